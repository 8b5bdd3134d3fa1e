import { execFile } from "node:child_process";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { childEnvironment } from "@hearth-and-keep/test-servers";
import ts from "typescript";
import { expect, test } from "vitest";
import { describeApi } from "../../apps/keep/src/openapi/describe-api.ts";
import { routes } from "../../apps/keep/src/routes.ts";

/** Types of fields by name, in TypeScript's notation; optional ones end with `?`. */
type Bodies = Readonly<Record<string, Readonly<Record<string, string>>>>;

type Shape = {
  readonly $ref?: string;
  readonly type?: string;
  readonly enum?: readonly string[];
  readonly anyOf?: readonly Shape[];
  readonly items?: Shape;
  readonly properties?: Readonly<Record<string, Shape>>;
  readonly required?: readonly string[];
};

const sdks = join(import.meta.dirname, "..");
/** Names of the document's schemas, by the names of the SDKs. */
const schemaNames = {
  EgressRule: "EgressRule",
  SecretMetadata: "Secret",
  SecretPage: "SecretPage",
  SecretValue: "SecretValue",
  NamedValue: "NamedValue",
  SecretValues: "SecretValues",
  NewSecret: "NewSecret",
  ExchangedToken: "ExchangedToken",
  FieldProblem: "FieldProblem",
} as const;

function documentedBodies(): Bodies {
  // The document's schemas.
  const schemas = describeApi(routes, "0").components.schemas as Readonly<Record<string, Shape>>;
  const describe = (shape: Shape): string => {
    const name = shape.$ref?.split("/").at(-1) ?? "";
    const [own] = Object.entries(schemaNames).find(([, each]) => each === name) ?? [];
    if (own !== undefined) return own;
    if (shape.$ref !== undefined) return describe(schemas[name] ?? {});
    if (shape.anyOf !== undefined) return shape.anyOf.map(describe).join(" | ");
    if (shape.enum !== undefined)
      return shape.enum
        .map((value) => JSON.stringify(value))
        .toSorted()
        .join(" | ");
    if (shape.type === "array") return `${describe(shape.items ?? {})}[]`;
    return shape.type === "integer" ? "number" : (shape.type ?? "unknown");
  };
  return Object.fromEntries(
    Object.entries(schemaNames).map(([own, name]) => {
      const { properties = {}, required = [] } = schemas[name] ?? {};
      const fields = Object.entries(properties).map(([field, shape]) => [
        required.includes(field) ? field : `${field}?`,
        describe(shape),
      ]);
      return [own, Object.fromEntries(fields)];
    }),
  );
}

async function typeScriptBodies(): Promise<Bodies> {
  const path = join(sdks, "typescript/src/responses.ts");
  const source = ts.createSourceFile(path, await readFile(path, "utf8"), ts.ScriptTarget.Latest, true);
  const aliases = source.statements.filter(ts.isTypeAliasDeclaration);
  const describe = (node: ts.TypeNode | undefined): string => {
    if (node === undefined) return "unknown";
    if (ts.isTypeOperatorNode(node)) return describe(node.type);
    if (ts.isArrayTypeNode(node)) return `${describe(node.elementType)}[]`;
    if (ts.isUnionTypeNode(node)) {
      const members = node.types.map(describe);
      return (members.includes("null") ? members : members.toSorted()).join(" | ");
    }
    const alias = aliases.find(({ name }) => name.text === node.getText())?.type;
    return alias === undefined || ts.isTypeLiteralNode(alias) ? node.getText() : describe(alias);
  };
  return Object.fromEntries(
    aliases.flatMap(({ name, type }) => {
      if (!ts.isTypeLiteralNode(type)) return [];
      const fields = type.members.filter(ts.isPropertySignature).map((field) => {
        const optional = field.questionToken === undefined ? "" : "?";
        return [field.name.getText() + optional, describe(field.type)];
      });
      return [[name.text, Object.fromEntries(fields)]];
    }),
  );
}

test("the bodies of both SDKs have every field of the OpenAPI document, with its type", async () => {
  const documented = documentedBodies();
  expect(documented["NewSecret"]).toMatchObject({ value: "string", "note?": "string | null" });
  expect(await typeScriptBodies()).toEqual(documented);
  const environment = { PYTHONPATH: join(sdks, "python/src"), PYTHONDONTWRITEBYTECODE: "1" };
  const { stdout } = await promisify(execFile)(
    "python3",
    [join(import.meta.dirname, "fixtures/print_types.py")],
    { env: { ...childEnvironment(), ...environment } },
  );
  expect(JSON.parse(stdout)).toEqual(documented);
});
