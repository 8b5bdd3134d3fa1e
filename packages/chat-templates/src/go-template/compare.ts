import { TemplateError } from "../template-error.ts";
import { describeKind, type GoValue } from "./values.ts";

/** Go's `eq`: values of different types cannot be compared, except with nil. */
export function areEqual(one: GoValue, other: GoValue): boolean {
  if (one.kind === "nil" || other.kind === "nil") return one.kind === other.kind;
  if (one.kind !== other.kind) throw incompatibleTypes(one, other);
  switch (one.kind) {
    case "string":
      return other.kind === "string" && one.text === other.text;
    case "integer":
    case "float":
    case "boolean":
      return "value" in other && one.value === other.value;
    case "list":
    case "map":
    case "record":
      throw incompatibleTypes(one, other);
  }
}

/** Go's `lt`. */
export function isLess(one: GoValue, other: GoValue): boolean {
  if (one.kind === "string" && other.kind === "string") {
    return Buffer.compare(Buffer.from(one.text), Buffer.from(other.text)) < 0;
  }
  if (one.kind === "integer" && other.kind === "integer") return one.value < other.value;
  if (one.kind === "float" && other.kind === "float") return one.value < other.value;
  throw incompatibleTypes(one, other);
}

function incompatibleTypes(one: GoValue, other: GoValue): TemplateError {
  return new TemplateError(`cannot compare "${describeKind(one)}" with "${describeKind(other)}"`);
}
