/**
 * @module
 * The OpenAPI document, generated from the route table and its validation schemas, and the metrics endpoint on its own
 * port. Guarantees that every route is in the document; an undescribed path parameter is an error. Schemas with a title become
 * components, so that generated clients have one type for each.
 * Imported by `routes.ts`, `server.ts` and `commands/serve.ts`.
 */
import type { TSchema } from "typebox";
import { describeParameters, templateOf } from "./describe-parameters.ts";
import { describeProblems, describeResponses, type ResponseShape } from "./describe-responses.ts";
import { exampleOf } from "./example-of.ts";
import { nameSchemas } from "./name-schemas.ts";

/** The columns of a route that the document describes. */
export type DescribedRow = {
  readonly method: string;
  readonly path: string;
  readonly operationId: string;
  readonly summary: string;
  readonly access:
    | "public"
    | "actor"
    | "session"
    | "fresh"
    | "operator"
    | "fresh-operator"
    | "member"
    | "fresh-member";
  readonly right?: string;
  readonly scope?: string;
  readonly bodySchema?: TSchema;
  readonly body?: string;
  readonly textBody?: unknown;
  readonly querySchema?: TSchema;
  readonly responses: Readonly<Record<number, ResponseShape>>;
};

export type ApiDocument = {
  readonly openapi: "3.1.0";
  readonly info: { readonly title: string; readonly version: string; readonly description: string };
  readonly tags: readonly { readonly name: string }[];
  readonly paths: Readonly<Record<string, Readonly<Record<string, object>>>>;
  readonly components: {
    readonly schemas: Readonly<Record<string, { readonly description?: string }>>;
    readonly responses: Readonly<Record<string, object>>;
    readonly securitySchemes: Readonly<Record<string, object>>;
  };
};

const description =
  "A secrets vault for people and programs. Errors are problem documents (RFC 9457) with a stable `code`.";

export function describeApi(rows: readonly DescribedRow[], version: string): ApiDocument {
  const byPath = Map.groupBy(rows, ({ path }) => templateOf(path));
  const { value, schemas } = nameSchemas({
    paths: Object.fromEntries(
      [...byPath].map(([path, ofPath]) => [
        path,
        Object.fromEntries(ofPath.map((row) => [row.method.toLowerCase(), describeOperation(row)])),
      ]),
    ),
    responses: describeProblems(),
  });
  // The shape that was passed in.
  const { paths, responses } = value as Pick<ApiDocument, "paths"> & ApiDocument["components"];
  return {
    openapi: "3.1.0",
    info: { title: "Keep", version, description },
    tags: [...new Set(rows.map(({ path }) => areaOf(path)))].map((name) => ({ name })),
    paths,
    components: {
      schemas,
      responses,
      securitySchemes: {
        token: { type: "http", scheme: "bearer", description: "API token, sent as `Bearer sk-svc-…`" },
        session: {
          type: "apiKey",
          in: "cookie",
          name: "__Host-session",
          description: "Session of a signed-in person; accepted only from Keep's own pages",
        },
      },
    },
  };
}

const textFile = { type: "string", description: "The file itself; only a .env file can be sent like this" };

function describeOperation(row: DescribedRow): object {
  const parameters = describeParameters(row);
  return {
    operationId: row.operationId,
    summary: row.summary,
    ...describeAccess(row),
    tags: [areaOf(row.path)],
    ...(parameters.length === 0 ? {} : { parameters }),
    ...(row.bodySchema === undefined
      ? {}
      : {
          requestBody: {
            required: true,
            content: {
              [jsonOrForm(row)]: { schema: row.bodySchema, ...exampleOf(row.bodySchema) },
              ...(row.textBody === undefined ? {} : { "text/plain": { schema: textFile } }),
            },
          },
        }),
    responses: describeResponses(row),
  };
}

function jsonOrForm({ body }: Pick<DescribedRow, "body">): string {
  return body === "urlencoded" ? "application/x-www-form-urlencoded" : "application/json";
}

function describeAccess({ access, scope, right }: DescribedRow): object {
  if (access === "public") return { security: [] };
  const isFresh = access.startsWith("fresh");
  const fresh = isFresh ? ["A session must have signed in within the last 15 minutes."] : [];
  const isForOperators = access === "operator" || access === "fresh-operator";
  if (isForOperators || right !== undefined || access === "session" || scope === "session") {
    const required = isForOperators
      ? "Requires the session of an operator."
      : right === undefined
        ? "Requires a signed-in session."
        : `Requires the session of a member whose role has the right \`${right}\`.`;
    const text = [required, ...fresh].join(" ");
    return { description: text, security: [{ session: [] }] };
  }
  const requiredScopes = scope === undefined || scope === "any" ? [] : [scope];
  const text = [
    ...requiredScopes.map((requiredScope) => `A token needs the scope \`${requiredScope}\`.`),
    ...fresh,
  ].join(" ");
  return {
    ...(text === "" ? {} : { description: text }),
    security: [{ token: requiredScopes }, { session: [] }],
  };
}

const areas: readonly (readonly [area: string, pattern: RegExp])[] = [
  ["audit", /\/audit(?:\/|$)/u],
  ["trust rules", /\/trust-rules(?:\/|$)/u],
  ["tokens", /\/tokens(?:\/|$)/u],
  ["keys", /\/(?:rotate-key|operations)(?:\/|$)/u],
  ["secrets", /:vault\/(?:secrets|values|batch|folders|import|export)/u],
  ["vaults", /\/vaults(?:\/|$)/u],
  ["organisations", /^\/(?:api\/)?(?:organisations|invitations?)(?:\/|$)/u],
  ["operators", /^\/(?:api\/)?operator(?:\/|$)/u],
  ["account", /^\/api\/(?:account|session)/u],
  ["sign-in", /^\/(?:sign-in|auth)/u],
];

function areaOf(path: string): string {
  return areas.find(([, pattern]) => pattern.test(path))?.[0] ?? "server";
}
