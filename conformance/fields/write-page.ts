import { writeFileSync } from "node:fs";
import { anthropicFields } from "./anthropic.ts";
import type { FieldTable, ServedEndpoint } from "./field-table.ts";
import { ollamaFields } from "./ollama.ts";
import { openaiFields } from "./openai.ts";

export const pagePath: string = new URL("../../docs/hearth/fields.md", import.meta.url).pathname;

const families: readonly (readonly [name: string, table: FieldTable])[] = [
  ["OpenAI", openaiFields],
  ["Anthropic", anthropicFields],
  ["Ollama", ollamaFields],
];

/** The page with all tables; a test compares it with the file. */
export function renderPage(): string {
  return `${[introduction, ...families.map(renderFamily)].join("\n\n")}\n`;
}

const introduction = `# Fields of the three APIs

What Hearth does with every request field that the current official clients know. Ignored fields, tools and blocks are named
in the header \`hearth-ignored\` of the response (see [api.md](api.md#ignored-fields)); refused ones get status 400 with the
reason. \`tools:mcp\` is an object with the type \`mcp\` in the field \`tools\`. Hearth also accepts fields that these clients do
not have, such as \`top_k\` and \`options\` in the OpenAI API.

A test compares this page with the types in the source of the clients and sends every field to a server:
\`npm run -s show -- agents 3\`. To write the page again, run \`node conformance/fields/write-page.ts\`.`;

function renderFamily([name, { served, refused }]: (typeof families)[number]): string {
  const endpoints = Object.entries(served).map(([endpoint, fields]) => renderEndpoint(endpoint, fields));
  const rows = Object.entries(refused).map(
    ([start, reason]) => `| \`${start.replace("* ", "").replace(/[/_]$/u, "")}\` | ${reason} |`,
  );
  return [
    `## ${name} API`,
    ...endpoints,
    `### Not served: ${name}`,
    ["| Endpoint | Reason |", "|---|---|", ...rows].join("\n"),
  ].join("\n\n");
}

function renderEndpoint(endpoint: string, { variants = {}, ...own }: ServedEndpoint): string {
  const all = [
    { prefix: "", fields: own },
    ...Object.entries(variants).map(([path, fields]) => ({ prefix: `${path}:`, fields })),
  ];
  const supported = all.flatMap(({ prefix, fields }) =>
    fields.supported.map((name) => `\`${prefix}${name}\``),
  );
  const rows = all.flatMap(({ prefix, fields: { ignored = {}, refused = {} } }) => [
    ...Object.entries(ignored).map(([name, reason]) => `| \`${prefix}${name}\` | ignored | ${reason} |`),
    ...Object.entries(refused).map(([name, reason]) => `| \`${prefix}${name}\` | refused | ${reason} |`),
  ]);
  return [
    `### \`${endpoint}\``,
    supported.length === 0 ? "The clients send no fields." : `Supported: ${supported.join(", ")}`,
    ...(rows.length === 0 ? [] : [["| Field | | Reason |", "|---|---|---|", ...rows].join("\n")]),
  ].join("\n\n");
}

if (import.meta.main) writeFileSync(pagePath, renderPage());
