import { choice, type Expression, never, nothing, repeat, sequence, text } from "../grammar.ts";
import { space } from "../json-rules.ts";
import type { Branch } from "./flatten-schema.ts";
import type { ContainerContext } from "./object-rules.ts";

/** An array whose first items have schemas of their own, and whose number of items is within all bounds. */
export function writeArray(branch: Branch, parts: ContainerContext): Expression {
  const least = Math.max(...branch.map(({ array }) => array.least));
  const most = Math.min(...branch.map(({ array }) => array.most));
  const prefixLength = Math.max(...branch.map(({ array }) => array.prefix.length));
  const place = branch[0]?.place ?? "#";
  if (least > most) return never;
  const positions = Array.from({ length: Math.min(prefixLength, most) }, (_, index) =>
    parts.valueOf(branch.flatMap(({ array }) => array.prefix[index] ?? array.items ?? [])),
  );
  const item = parts.table.add(`${place}/item`, writeFurtherItem(branch, prefixLength, parts));
  const continued = sequence(text(","), space, item);
  let after = parts.table.add(
    place,
    repeat(continued, Math.max(least - positions.length, 0), most - positions.length),
  );
  const [first = item, ...following] = positions;
  if (positions.length === 0) {
    after = parts.table.add(place, repeat(continued, Math.max(least - 1, 0), Math.max(most - 1, 0)));
  }
  for (const [index, position] of following.toReversed().entries()) {
    const isOptional = following.length - index >= least;
    const next = sequence(text(","), space, position, after);
    after = parts.table.add(place, choice(next, ...(isOptional ? [nothing] : [])));
  }
  const content = most === 0 ? never : sequence(first, after, space);
  return sequence(text("["), space, choice(content, ...(least === 0 ? [nothing] : [])), text("]"));
}

function writeFurtherItem(branch: Branch, prefixLength: number, parts: ContainerContext): Expression {
  const schemas = branch.flatMap(({ array }) => array.items ?? []);
  const isClosed = schemas.length === 0 && prefixLength > 0 && parts.reading === "as-meant";
  return isClosed ? never : parts.valueOf(schemas);
}
