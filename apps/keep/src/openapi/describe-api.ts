/**
 * @module
 * What Keep tells about itself: an OpenAPI document made from the table of routes and from the schemas that requests
 * are checked against, and the metrics on their own port. Promises that a row of the table cannot be missing from the
 * document, and that a path parameter nobody described keeps the server from being built.
 * Imported by `routes.ts`, `server.ts` and `commands/serve.ts`.
 */
import { problem } from "@hearth-and-keep/vault-contract";
import type { TSchema } from "typebox";
import { type AnswerShape, describeAnswers } from "./describe-responses.ts";
import { describeParameters, templateOf } from "./describe-parameters.ts";
import { exampleOf } from "./example-of.ts";

/** What of a row is told. */
export type DescribedRow = {
  readonly method: string;
  readonly path: string;
  readonly summary: string;
  readonly access: "public" | "actor" | "session" | "fresh";
  readonly scope?: string;
  readonly bodySchema?: TSchema;
  readonly querySchema?: TSchema;
  readonly responses: Readonly<Record<number, AnswerShape>>;
};

export type ApiDocument = {
  readonly openapi: "3.1.0";
  readonly info: { readonly title: string; readonly version: string; readonly description: string };
  readonly tags: readonly { readonly name: string }[];
  readonly paths: Readonly<Record<string, Readonly<Record<string, object>>>>;
  readonly components: Readonly<Record<string, object>>;
};

const description =
  "A secrets vault for people and programs. Every refusal is a problem document (RFC 9457) whose `code` never changes its meaning.";

export function describeApi(rows: readonly DescribedRow[], version: string): ApiDocument {
  const byPath = Map.groupBy(rows, ({ path }) => templateOf(path));
  return {
    openapi: "3.1.0",
    info: { title: "Keep", version, description },
    tags: [...new Set(rows.map(({ path }) => areaOf(path)))].map((name) => ({ name })),
    paths: Object.fromEntries(
      [...byPath].map(([path, ofPath]) => [
        path,
        Object.fromEntries(ofPath.map((row) => [row.method.toLowerCase(), describeOperation(row)])),
      ]),
    ),
    components: {
      schemas: { Problem: problem },
      securitySchemes: {
        token: { type: "http", scheme: "bearer", description: "A token, as `Bearer sk-svc-…`" },
        session: {
          type: "apiKey",
          in: "cookie",
          name: "__Host-session",
          description: "A person who signed in, from Keep's own pages",
        },
      },
    },
  };
}

function describeOperation(row: DescribedRow): object {
  const parameters = describeParameters(row);
  return {
    operationId: `${row.method} ${row.path}`
      .toLowerCase()
      // What is below a path has another name than the path itself.
      .replace("*", "below")
      .replaceAll(/[^a-z]+/gu, "-")
      .replace(/-$/u, ""),
    summary: row.summary,
    ...describeAccess(row),
    tags: [areaOf(row.path)],
    ...(parameters.length === 0 ? {} : { parameters }),
    ...(row.bodySchema === undefined
      ? {}
      : {
          requestBody: {
            required: true,
            content: { "application/json": { schema: row.bodySchema, ...exampleOf(row.bodySchema) } },
          },
        }),
    responses: describeAnswers(row),
  };
}

function describeAccess({ access, scope }: DescribedRow): object {
  if (access === "public") return { security: [] };
  const fresh = access === "fresh" ? ["A person must have signed in within the last 15 minutes."] : [];
  if (access === "session" || scope === "session") {
    const sentence = ["Only for a person who signed in.", ...fresh].join(" ");
    return { description: sentence, security: [{ session: [] }] };
  }
  const needed = scope === undefined || scope === "any" ? [] : [scope];
  const sentence = [...needed.map((each) => `A token needs the scope \`${each}\`.`), ...fresh].join(" ");
  return {
    ...(sentence === "" ? {} : { description: sentence }),
    security: [{ token: needed }, { session: [] }],
  };
}

const areas: readonly (readonly [area: string, pattern: RegExp])[] = [
  ["audit", /\/audit(?:\/|$)/u],
  ["tokens", /\/tokens(?:\/|$)/u],
  ["keys", /\/(?:rotate-key|operations)(?:\/|$)/u],
  ["secrets", /:vault\/(?:secrets|values|batch|folders|import|export)/u],
  ["vaults", /\/vaults(?:\/|$)/u],
  ["account", /^\/api\/(?:account|session)/u],
  ["sign-in", /^\/(?:sign-in|auth)/u],
];

function areaOf(path: string): string {
  return areas.find(([, pattern]) => pattern.test(path))?.[0] ?? "server";
}
