import { type HttpResponse, jsonResponse } from "@hearth-and-keep/http-service";
import type { HearthDependencies, HearthRequest } from "../dependencies.ts";
import type { OpenApiDocuments } from "./create-document.ts";
import { renderOpenApiPage } from "./render-page.ts";

export function handleOpenApiDocument(
  { parameters }: HearthRequest,
  { documents }: HearthDependencies,
): HttpResponse {
  const name = (parameters["document"] ?? "").replace(/\.json$/u, "");
  const document = Object.hasOwn(documents, name) ? documents[name] : undefined;
  return document === undefined
    ? jsonResponse({ error: "Document not found; use ollama.json, openai.json or anthropic.json" }, 404)
    : jsonResponse(document);
}

/** Rendering takes many milliseconds, and the documents never change. */
const renderedPages = new WeakMap<OpenApiDocuments, string>();

/** The documents as one HTML page without scripts or external resources. */
export function handleOpenApiPage(_request: HearthRequest, { documents }: HearthDependencies): HttpResponse {
  const page = renderedPages.get(documents) ?? renderOpenApiPage(documents);
  renderedPages.set(documents, page);
  return {
    status: 200,
    headers: {
      "content-type": "text/html; charset=utf-8",
      "content-security-policy":
        "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'",
    },
    body: page,
  };
}

export async function handleMetrics(
  _request: HearthRequest,
  { metrics }: HearthDependencies,
): Promise<HttpResponse> {
  const { contentType, text } = await metrics.render();
  return { status: 200, headers: { "content-type": contentType }, body: text };
}
