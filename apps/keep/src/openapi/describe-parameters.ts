import { id } from "@hearth-and-keep/vault-contract";
import type { TSchema } from "typebox";

export type ParameterSource = {
  readonly method: string;
  readonly path: string;
  readonly access: string;
  readonly querySchema?: TSchema;
};

const secretPath = {
  type: "string",
  minLength: 1,
  maxLength: 2048,
  pattern: "^[^/]+(/[^/]+)*$",
  description: "Folders and name, without the slash at the beginning",
};

/** Every word that may stand for a part of a path. */
const pathParts: Readonly<Record<string, object>> = {
  vault: id,
  secret: id,
  token: id,
  session: id,
  identity: id,
  operation: id,
  version: { type: "integer", minimum: 1, maximum: 2_147_483_647 },
  provider: { type: "string", enum: ["code-hosting", "general"] },
  path: secretPath,
  file: { type: "string", minLength: 1, maxLength: 255, pattern: "^[^/]+$" },
};

export function describeParameters(row: ParameterSource): readonly object[] {
  return [...describePath(row.path), ...describeQuery(row.querySchema), ...describeHeaders(row)];
}

/** `/a/:vault/*` as OpenAPI writes it; the rest of a path is a secret's. */
export function templateOf(path: string): string {
  return path.replace("*", "{path}").replaceAll(/:(\w+)/gu, "{$1}");
}

function describePath(path: string): readonly object[] {
  return [...templateOf(path).matchAll(/\{(?<name>\w+)\}/gu)].map(({ groups }) => {
    const name = groups?.["name"] ?? "";
    const schema = pathParts[name];
    if (schema === undefined) throw new Error(`Cannot describe "${path}": nobody said what ${name} is`);
    return { name, in: "path", required: true, schema };
  });
}

function describeQuery(shape: TSchema | undefined): readonly object[] {
  if (shape === undefined || !("properties" in shape)) return [];
  // TypeBox writes objects with their properties and the names of those that must be there.
  const { properties, required = [] } = shape as unknown as {
    readonly properties: Readonly<Record<string, object>>;
    readonly required?: readonly string[];
  };
  return Object.entries(properties).map(([name, schema]) => ({
    name,
    in: "query",
    required: required.includes(name),
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
  const isOfVault = path.includes(":vault");
  if (method === "GET") {
    return isOfVault
      ? [header("If-None-Match", entityTags, "Answers 304 when nothing has changed since")]
      : [];
  }
  return [
    header(
      "Idempotency-Key",
      { type: "string", minLength: 1, maxLength: 255, pattern: "^[!-~]+$" },
      "Makes a repeated request have one effect; the same answer is given again",
    ),
    ...(isOfVault
      ? [
          header("If-Match", entityTags, "Done only while it is as this ETag says"),
          header("If-None-Match", { type: "string", const: "*" }, "Done only when there is none yet"),
        ]
      : []),
  ];
}

function header(name: string, schema: object, description: string): object {
  return { name, in: "header", required: false, schema, description };
}
