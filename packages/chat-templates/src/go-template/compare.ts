import { TemplateError } from "../template-error.ts";
import { type GoValue, nameKind } from "./values.ts";

/** Go's `eq`: values of two kinds cannot be compared, except with nothing. */
export function areEqual(one: GoValue, other: GoValue): boolean {
  if (one.kind === "nil" || other.kind === "nil") return one.kind === other.kind;
  if (one.kind !== other.kind) throw incomparable(one, other);
  switch (one.kind) {
    case "text":
      return other.kind === "text" && one.text === other.text;
    case "whole":
    case "float":
    case "truth":
      return "value" in other && one.value === other.value;
    case "list":
    case "map":
    case "record":
      throw incomparable(one, other);
  }
}

/** Go's `lt`. */
export function isBefore(one: GoValue, other: GoValue): boolean {
  if (one.kind === "text" && other.kind === "text") {
    return Buffer.compare(Buffer.from(one.text), Buffer.from(other.text)) < 0;
  }
  if (one.kind === "whole" && other.kind === "whole") return one.value < other.value;
  if (one.kind === "float" && other.kind === "float") return one.value < other.value;
  throw incomparable(one, other);
}

function incomparable(one: GoValue, other: GoValue): TemplateError {
  return new TemplateError(`it compares a ${nameKind(one)} with a ${nameKind(other)}`);
}
