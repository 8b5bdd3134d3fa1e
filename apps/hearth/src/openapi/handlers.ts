import { type Answer, jsonAnswer } from "@hearth-and-keep/http-service";
import type { HearthCall, HearthParts } from "../dependencies.ts";
import { renderApiPage } from "./render-api-page.ts";

export function answerApiDocument({ parameters }: HearthCall, { documents }: HearthParts): Answer {
  const name = (parameters["document"] ?? "").replace(/\.json$/u, "");
  const document = Object.hasOwn(documents, name) ? documents[name] : undefined;
  return document === undefined
    ? jsonAnswer({ error: "There is no such document" }, 404)
    : jsonAnswer(document);
}

/** The same documents for people: one page, no script, nothing from anywhere else. */
export function answerApiPage(_call: HearthCall, { documents }: HearthParts): Answer {
  return {
    status: 200,
    headers: {
      "content-type": "text/html; charset=utf-8",
      "content-security-policy":
        "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'",
    },
    body: renderApiPage(documents),
  };
}

export async function answerMetrics(_call: HearthCall, { metrics }: HearthParts): Promise<Answer> {
  const { contentType, text } = await metrics.render();
  return { status: 200, headers: { "content-type": contentType }, body: text };
}
