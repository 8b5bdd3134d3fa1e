/**
 * @module
 * OpenAPI documents, a page that shows them, and the metrics endpoint. The documents are generated from the route table
 * and the schemas that validate requests, so that they cannot omit a route or disagree with the server.
 * Imported by `routes.ts` and `server.ts`.
 */
import type { TSchema } from "typebox";
import type { Protocol } from "../protocol.ts";

/** The columns of a route that the document describes. */
export type DocumentedRoute = {
  readonly method: string;
  readonly path: string;
  readonly protocol: Pick<Protocol, "name">;
  readonly body?: string;
  readonly bodySchema?: TSchema;
};

export type OpenApiDocument = {
  readonly openapi: "3.1.0";
  readonly info: { readonly title: string; readonly version: string };
  readonly security: readonly unknown[];
  readonly paths: Readonly<Record<string, Readonly<Record<string, unknown>>>>;
  readonly components: Readonly<Record<string, unknown>>;
};

/** Documents by the name in their URL. */
export type OpenApiDocuments = Readonly<Record<string, OpenApiDocument>>;

const titles: Readonly<Record<Protocol["name"], string>> = {
  ollama: "Hearth: Ollama API",
  openai: "Hearth: OpenAI API",
  anthropic: "Hearth: Anthropic API",
};

/** Errors that any route can return, in the format of its API. */
const errorResponses = {
  "400": { description: "The request is invalid, or the prompt exceeds the context" },
  "401": { description: "The API key is missing or incorrect" },
  "403": { description: "The Host or Origin header is not allowed, or an admin key is required" },
  "404": { description: "Model not found" },
  "413": { description: "The request body is too large" },
  "503": { description: "The queue is full; retry after the time in Retry-After" },
} as const;

export function createOpenApiDocument(
  routes: readonly DocumentedRoute[],
  name: Protocol["name"],
  version: string,
): OpenApiDocument {
  const own = routes.filter(({ protocol }) => protocol.name === name);
  const byPath = Map.groupBy(own, ({ path }) => templateOf(path));
  return {
    openapi: "3.1.0",
    info: { title: titles[name], version },
    security: [{}, { bearer: [] }, { apiKey: [] }],
    paths: Object.fromEntries(
      [...byPath].map(([path, operations]) => [
        path,
        Object.fromEntries(operations.map((route) => [route.method.toLowerCase(), describeOperation(route)])),
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

function describeOperation({ path, body, bodySchema }: DocumentedRoute): object {
  const names = [...templateOf(path).matchAll(/\{(?<name>\w+)\}/gu)].flatMap(
    ({ groups }) => groups?.["name"] ?? [],
  );
  const schema = { type: "string", maxLength: 1024 };
  return {
    ...(names.length === 0
      ? {}
      : { parameters: names.map((name) => ({ name, in: "path", required: true, schema })) }),
    ...(bodySchema === undefined
      ? {}
      : { requestBody: { required: true, content: { "application/json": { schema: bodySchema } } } }),
    ...(body === "form" ? { requestBody: { required: true, content: formContent } } : {}),
    responses: { "200": { description: "Success" }, ...errorResponses },
  };
}

const formContent = { "multipart/form-data": { schema: { type: "object" } } };

/** The wildcard at the end of a path is a model name. */
function templateOf(path: string): string {
  return path.replace("*", "{model}").replaceAll(/:(\w+)/gu, "{$1}");
}
