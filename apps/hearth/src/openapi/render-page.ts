import type { OpenApiDocument } from "./create-document.ts";

const style = `
:root { color-scheme: light dark; }
body { font: 16px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem; }
h2 { margin-top: 2.5rem; border-bottom: 1px solid color-mix(in srgb, currentColor 25%, transparent); }
summary { cursor: pointer; padding: .35rem 0; font-family: ui-monospace, monospace; overflow-wrap: anywhere; }
summary b { display: inline-block; min-width: 4.5rem; color: #b4530f; }
pre { overflow: auto; padding: 1rem; border-radius: .5rem; font-size: 13px;
  background: color-mix(in srgb, currentColor 7%, transparent); max-height: 24rem; }
@media (prefers-color-scheme: dark) { summary b { color: #f0a060; } }
`;

/** Every operation of every API, with the schema of its request body. */
export function renderOpenApiPage(documents: Readonly<Record<string, OpenApiDocument>>): string {
  const sections = Object.entries(documents).map(([name, document]) => renderDocument(name, document));
  return [
    '<!doctype html><html lang="en"><head><meta charset="utf-8">',
    '<meta name="viewport" content="width=device-width, initial-scale=1"><title>Hearth API</title>',
    `<style>${style}</style></head><body><h1>Hearth API</h1>`,
    "<p>The Ollama, OpenAI and Anthropic APIs on one port. To use an existing client, change only its base URL.</p>",
    ...sections,
    "</body></html>",
  ].join("\n");
}

function renderDocument(name: string, { paths, ...document }: OpenApiDocument): string {
  const operations = Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => renderOperation(`${method} ${path}`, operation)),
  );
  const link = `<a href="/openapi/${escapeText(name)}.json">OpenAPI document</a>`;
  return [`<h2>${escapeText(document.info.title)}</h2><p>${link}</p>`, ...operations].join("\n");
}

function renderOperation(heading: string, operation: unknown): string {
  const [method = "", path = ""] = heading.split(" ");
  const text = escapeText(JSON.stringify(operation, null, 2));
  return `<details><summary><b>${method.toUpperCase()}</b> ${escapeText(path)}</summary><pre>${text}</pre></details>`;
}

function escapeText(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll('"', "&quot;");
}
