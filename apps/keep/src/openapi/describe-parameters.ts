import { id } from "@hearth-and-keep/vault-contract";
import type { TSchema } from "typebox";

export type ParameterSource = {
  readonly method: string;
  readonly path: string;
  readonly access: string;
  readonly querySchema?: TSchema;
};

type DescribedSchema = { readonly description: string; readonly [keyword: string]: unknown };

/** Schemas of all path parameters. */
const pathParameters: Readonly<Record<string, DescribedSchema>> = {
  vault: { ...id, description: "Id of the vault" },
  secret: { ...id, description: "Id of the secret" },
  token: { ...id, description: "Id of the token" },
  session: { ...id, description: "Id of the session" },
  identity: { ...id, description: "Id of the identity" },
  account: { ...id, description: "Id of the account" },
  organisation: { ...id, description: "Id of the organisation" },
  person: { ...id, description: "Id of a person's account" },
  invitation: { ...id, description: "Id of the invitation" },
  code: {
    type: "string",
    minLength: 1,
    maxLength: 128,
    pattern: "^[^/]+$",
    description: "Code of an invitation",
  },
  team: { ...id, description: "Id of the team" },
  grant: { ...id, description: "Id of the grant" },
  rule: { ...id, description: "Id of the trust rule" },
  change: { ...id, description: "Id of the proposed change" },
  operation: { ...id, description: "Id of the operation" },
  version: {
    type: "integer",
    minimum: 1,
    maximum: 2_147_483_647,
    description: "Number of the version",
  },
  provider: {
    type: "string",
    enum: ["code-hosting", "general"],
    description: "Kind of the identity provider",
  },
  path: {
    type: "string",
    minLength: 1,
    maxLength: 2048,
    pattern: "^[^/]+(/[^/]+)*$",
    description: "Folders and name, without a leading slash",
  },
  file: {
    type: "string",
    minLength: 1,
    maxLength: 255,
    pattern: "^[^/]+$",
    description: "Name of the file",
  },
};

export function describeParameters(row: ParameterSource): readonly object[] {
  return [...describePath(row.path), ...describeQuery(row.querySchema), ...describeHeaders(row)];
}

/** Converts `/a/:vault/*` to OpenAPI syntax; a wildcard is always a secret's path. */
export function templateOf(path: string): string {
  return path.replace("*", "{path}").replaceAll(/:(\w+)/gu, "{$1}");
}

function describePath(path: string): readonly object[] {
  return [...templateOf(path).matchAll(/\{(?<name>\w+)\}/gu)].map(({ groups }) => {
    const name = groups?.["name"] ?? "";
    const schema = pathParameters[name];
    if (schema === undefined)
      throw new Error(`Cannot describe "${path}": the path parameter ${name} has no schema`);
    const { description, ...type } = schema;
    return { name, in: "path", required: true, description, schema: type };
  });
}

function describeQuery(querySchema: TSchema | undefined): readonly object[] {
  if (querySchema === undefined || !("properties" in querySchema)) return [];
  // A TypeBox object schema has these members.
  const { properties, required = [] } = querySchema as unknown as {
    readonly properties: Readonly<Record<string, { readonly description?: string }>>;
    readonly required?: readonly string[];
  };
  return Object.entries(properties).map(([name, schema]) => ({
    name,
    in: "query",
    required: required.includes(name),
    description: schema.description,
    schema,
  }));
}

const entityTags = {
  type: "string",
  maxLength: 1024,
  pattern: '^(\\*|"[!-~]{1,64}"(, *"[!-~]{1,64}")*)$',
};

function describeHeaders({ method, path, access }: ParameterSource): readonly object[] {
  if (access === "public") return [];
  const isVaultRoute = path.includes(":vault");
  if (method === "GET") {
    return isVaultRoute ? [header("If-None-Match", entityTags, "Returns 304 if nothing has changed")] : [];
  }
  return [
    header(
      "Idempotency-Key",
      { type: "string", minLength: 1, maxLength: 255, pattern: "^[!-~]+$" },
      "Repeated requests with the same key take effect once and get the same response",
    ),
    ...(isVaultRoute
      ? [
          header("If-Match", entityTags, "Applies the change only if the ETag still matches"),
          header(
            "If-None-Match",
            { type: "string", const: "*" },
            "Applies the change only if the resource does not exist",
          ),
        ]
      : []),
  ];
}

function header(name: string, schema: object, description: string): object {
  return { name, in: "header", required: false, schema, description };
}
