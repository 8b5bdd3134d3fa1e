/**
 * @module
 * What Hearth tells about itself: OpenAPI documents made from the same table and schemas that answer and check
 * requests, a page to read them, and the metrics. Promises that a row of the table cannot be missing from them.
 * Imported by `routes.ts`.
 */
import type { TSchema } from "typebox";
import type { Family } from "../protocol.ts";

/** What of a row is told. */
export type DescribedRow = {
  readonly method: string;
  readonly path: string;
  readonly family: Pick<Family, "name">;
  readonly request?: TSchema;
};

export type ApiDocument = {
  readonly openapi: "3.1.0";
  readonly info: { readonly title: string; readonly version: string };
  readonly security: readonly unknown[];
  readonly paths: Readonly<Record<string, Readonly<Record<string, unknown>>>>;
  readonly components: Readonly<Record<string, unknown>>;
};

/** Documents by the name they are asked for. */
export type ApiDocuments = Readonly<Record<string, ApiDocument>>;

const titles: Readonly<Record<Family["name"], string>> = {
  ollama: "Hearth, local-runner family",
  openai: "Hearth, chat-completions family",
  anthropic: "Hearth, messages family",
};

/** Statuses that any row can answer with, in its family's own shape. */
const refusals = {
  "400": { description: "The request is not valid, or the prompt is too long" },
  "401": { description: "The server has a key and the request does not carry it" },
  "403": { description: "The Host or Origin is not allowed" },
  "404": { description: "There is no such model" },
  "413": { description: "The body is too large" },
  "503": { description: "Too many requests wait already" },
} as const;

export function describeApi(
  rows: readonly DescribedRow[],
  name: Family["name"],
  version: string,
): ApiDocument {
  const own = rows.filter(({ family }) => family.name === name);
  const byPath = Map.groupBy(own, ({ path }) => templateOf(path));
  return {
    openapi: "3.1.0",
    info: { title: titles[name], version },
    security: [{}, { bearer: [] }, { apiKey: [] }],
    paths: Object.fromEntries(
      [...byPath].map(([path, ofPath]) => [
        path,
        Object.fromEntries(ofPath.map((row) => [row.method.toLowerCase(), describeOperation(row)])),
      ]),
    ),
    components: {
      securitySchemes: {
        bearer: { type: "http", scheme: "bearer" },
        apiKey: { type: "apiKey", in: "header", name: "x-api-key" },
      },
    },
  };
}

function describeOperation({ path, request }: DescribedRow): object {
  const names = [...templateOf(path).matchAll(/\{(?<name>\w+)\}/gu)].flatMap(
    ({ groups }) => groups?.["name"] ?? [],
  );
  const schema = { type: "string", maxLength: 1024 };
  return {
    ...(names.length === 0
      ? {}
      : { parameters: names.map((name) => ({ name, in: "path", required: true, schema })) }),
    ...(request === undefined
      ? {}
      : { requestBody: { required: true, content: { "application/json": { schema: request } } } }),
    responses: { "200": { description: "The answer" }, ...refusals },
  };
}

/** The rest of a path is a model's name. */
function templateOf(path: string): string {
  return path.replace("*", "{model}").replaceAll(/:(\w+)/gu, "{$1}");
}
