import { choice, type Expression, never, nothing, repeat, sequence, text } from "../grammar.ts";
import { space } from "../json-rules.ts";
import type { Branch } from "./flatten-schema.ts";
import type { ContainerContext } from "./object-rules.ts";

/** An array with optional schemas for its first items and a number of items within all bounds. */
export function writeArray(branch: Branch, context: ContainerContext): Expression {
  const min = Math.max(...branch.map(({ array }) => array.min));
  const max = Math.min(...branch.map(({ array }) => array.max));
  const prefixLength = Math.max(...branch.map(({ array }) => array.prefix.length));
  const pointer = branch[0]?.pointer ?? "#";
  if (min > max) return never;
  const positions = Array.from({ length: Math.min(prefixLength, max) }, (_, index) =>
    context.valueOf(branch.flatMap(({ array }) => array.prefix[index] ?? array.items ?? [])),
  );
  const item = context.table.add(`${pointer}/item`, writeAdditionalItem(branch, prefixLength, context));
  const continued = sequence(text(","), space, item);
  let after = context.table.add(
    pointer,
    repeat(continued, Math.max(min - positions.length, 0), max - positions.length),
  );
  const [first = item, ...following] = positions;
  if (positions.length === 0) {
    after = context.table.add(pointer, repeat(continued, Math.max(min - 1, 0), Math.max(max - 1, 0)));
  }
  for (const [index, position] of following.toReversed().entries()) {
    const isOptional = following.length - index >= min;
    const next = sequence(text(","), space, position, after);
    after = context.table.add(pointer, choice(next, ...(isOptional ? [nothing] : [])));
  }
  const content = max === 0 ? never : sequence(first, after, space);
  return sequence(text("["), space, choice(content, ...(min === 0 ? [nothing] : [])), text("]"));
}

function writeAdditionalItem(branch: Branch, prefixLength: number, context: ContainerContext): Expression {
  const schemas = branch.flatMap(({ array }) => array.items ?? []);
  const isClosed = schemas.length === 0 && prefixLength > 0 && context.interpretation === "closed";
  return isClosed ? never : context.valueOf(schemas);
}
