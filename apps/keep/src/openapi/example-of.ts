import type { TSchema } from "typebox";
import { Compile } from "typebox/compile";

type Shape = {
  readonly type?: string;
  readonly const?: unknown;
  readonly enum?: readonly unknown[];
  readonly anyOf?: readonly Shape[];
  readonly items?: Shape;
  readonly properties?: Readonly<Record<string, Shape>>;
  readonly format?: string;
  readonly minimum?: number;
  readonly minLength?: number;
  readonly examples?: readonly unknown[];
};

/** An example for the schema; empty when the generated one does not validate. */
export function exampleOf(schema: TSchema): { readonly example?: unknown } {
  const example = sample(schema);
  return Compile(schema).Check(example) ? { example } : {};
}

const examplesByFormat: Readonly<Record<string, string>> = {
  uuid: "0198c0de-7c1a-7f00-8000-5a1e5a1e5a1e",
  "date-time": "2026-01-31T12:00:00.000Z",
};

function sample(shape: Shape): unknown {
  if (shape.examples !== undefined) return shape.examples[0];
  if ("const" in shape) return shape.const;
  if (shape.enum !== undefined) return shape.enum[0];
  if (shape.anyOf !== undefined) return shape.anyOf[0] === undefined ? null : sample(shape.anyOf[0]);
  switch (shape.type) {
    case "object":
      return Object.fromEntries(
        Object.entries(shape.properties ?? {}).map(([name, inner]) => [name, sample(inner)]),
      );
    case "array":
      return shape.items === undefined ? [] : [sample(shape.items)];
    case "integer":
    case "number":
      return Math.max(1, shape.minimum ?? 1);
    case "boolean":
      return true;
    case "string":
      return examplesByFormat[shape.format ?? ""] ?? "example".padEnd(shape.minLength ?? 0, "x");
    case undefined:
    default:
      return null;
  }
}
