/**
 * @module
 * The browser page as files: read at start, packed when first asked for, given out from memory under `/ui`. Scripts
 * and styles have the hash of their content in their names and may be kept for ever; the page itself never is.
 * Promises that it runs our own scripts alone, speaks to nobody but this server and stands in nobody's frame.
 * Imported by `routes.ts`, and by `commands/serve.ts`, which reads the files.
 */
import {
  type Answer,
  answerWebPage,
  answerWebPart,
  type CallHead,
  readWebFiles,
  textAnswer,
  type WebFiles,
  type WholeAnswer,
} from "@hearth-and-keep/http-service";
import type { HearthCall, HearthParts } from "../dependencies.ts";
import { requestFailure } from "../failures.ts";

/** Beside the program in a tarball, beside its sources otherwise. */
const folders = ["./page/", "../../../hearth-web/dist/"].map((place) => new URL(place, import.meta.url));

export function readPageFiles(): Promise<WebFiles> {
  return readWebFiles(folders);
}

const address = "/ui";
/** Addresses of the page's own places; it decides in the browser which is shown. */
const places = new Set(["models", "live", "connect"]);

const policy = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' data: blob:",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
  "require-trusted-types-for 'script'",
  "trusted-types 'none'",
].join("; ");

const guards = {
  "content-security-policy": policy,
  "x-content-type-options": "nosniff",
  "referrer-policy": "no-referrer",
  "cross-origin-opener-policy": "same-origin",
} as const;

const buildFirst =
  "Hearth's page is not built in this clone. Build it with: npm run console, and start Hearth again. The API works without it.\n";

export async function answerPage({ headers }: HearthCall, { page }: HearthParts): Promise<Answer> {
  const found = page.get("index.html");
  if (found === undefined) return guarded(textAnswer(buildFirst), "no-cache");
  return guarded(await answerWebPage(headers, found), "no-cache");
}

/** A script, a style, or one of the page's own places. */
export async function answerPagePart(call: HearthCall, parts: HearthParts): Promise<Answer> {
  const name = call.parameters["part"] ?? "";
  if (places.has(name)) return answerPage(call, parts);
  const found = name === "index.html" ? undefined : parts.page.get(name);
  if (found === undefined) throw requestFailure({ kind: "no-such-route" });
  return guarded(await answerWebPart(call.headers, found));
}

function guarded(answer: WholeAnswer, cacheControl?: string): WholeAnswer {
  return {
    ...answer,
    headers: {
      ...answer.headers,
      vary: "origin, accept-encoding",
      ...guards,
      ...(cacheControl === undefined ? {} : { "cache-control": cacheControl }),
    },
  };
}

/** The root is what local-runner clients probe, and what people type: those are sent to the page. */
export function unlessBrowser(handle: () => WholeAnswer): (call: HearthCall) => Answer {
  return ({ headers }) => {
    const vary = "origin, accept, sec-fetch-mode";
    if (isNavigation(headers)) return { status: 302, headers: { location: address, vary } };
    const answer = handle();
    return { ...answer, headers: { ...answer.headers, vary } };
  };
}

/** Browsers name the mode of what they fetch; those that do not put HTML first in what they accept. */
function isNavigation(headers: CallHead["headers"]): boolean {
  const accepted = String(headers["accept"] ?? "").toLowerCase();
  const mode = headers["sec-fetch-mode"];
  return mode === undefined
    ? accepted.startsWith("text/html")
    : mode === "navigate" && accepted.includes("text/html");
}
