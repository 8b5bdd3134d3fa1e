import type { Validator } from "typebox/compile";

export type JsonObject = Readonly<Record<string, unknown>>;

/** JSON that does not match its schema. The message names the field; callers add which file or response it is in. */
export class SchemaError extends Error {
  override readonly name = "SchemaError";
}

/** The part of a compiled schema that parsing needs. */
type SchemaValidator<Value> = Pick<Validator, "Errors"> & { Check(value: unknown): value is Value };

/** Parses JSON and checks it against a compiled schema. Throws SchemaError. */
export function parseJson<Value>(content: Uint8Array, validator: SchemaValidator<Value>): Value {
  const value = decode(content);
  if (validator.Check(value)) return value;
  throw new SchemaError(describeMismatch(validator, value));
}

function decode(content: Uint8Array): unknown {
  try {
    return JSON.parse(Buffer.from(content).toString("utf8"));
  } catch {
    throw new SchemaError("it is not valid JSON");
  }
}

/** The first mismatch, e.g. `"layers.0.size" must be >= 0`. */
function describeMismatch(validator: Pick<Validator, "Errors">, value: unknown): string {
  const [error] = validator.Errors(value);
  if (error === undefined) return "it is not valid";
  const path = error.instancePath.split("/").slice(1).join(".");
  return `${path === "" ? "it" : `"${path}"`} ${messageOf(error)}`;
}

/** TypeBox's own messages for these keywords are "must be equal to constant" and "must be object". */
function messageOf(error: ReturnType<Validator["Errors"]>[number]): string {
  if (error.keyword === "const") return `must be ${JSON.stringify(error.params.allowedValue)}`;
  return error.keyword === "type"
    ? `must be of type ${[error.params.type].flat().join(" or ")}`
    : error.message;
}
