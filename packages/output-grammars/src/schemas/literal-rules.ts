import type { JsonValue } from "@hearth-and-keep/engine";
import { type Expression, nothing, sequence, text } from "../grammar.ts";
import { member, space } from "../json-rules.ts";

/** A constant value, with the same whitespace rules as elsewhere. */
export function writeLiteral(value: JsonValue): Expression {
  if (typeof value !== "object" || value === null) return text(JSON.stringify(value));
  if (isList(value)) return sequence(text("["), space, listed(value.map(writeLiteral)), text("]"));
  const members = Object.entries(value).map(([key, inner]) =>
    member(text(JSON.stringify(key)), writeLiteral(inner)),
  );
  return sequence(text("{"), space, listed(members), text("}"));
}

function isList(value: JsonValue): value is readonly JsonValue[] {
  return Array.isArray(value);
}

function listed(members: readonly Expression[]): Expression {
  const separated = members.flatMap((each, index) => (index === 0 ? [each] : [text(","), space, each]));
  return members.length === 0 ? nothing : sequence(...separated, space);
}
