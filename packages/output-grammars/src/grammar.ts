import type { CharacterSet } from "./automata/character-set.ts";

export type Expression =
  | { readonly kind: "text"; readonly text: string }
  | { readonly kind: "characters"; readonly set: CharacterSet }
  | { readonly kind: "sequence"; readonly parts: readonly Expression[] }
  /** Without options it is what can never be written. */
  | { readonly kind: "choice"; readonly options: readonly Expression[] }
  | { readonly kind: "repeat"; readonly part: Expression; readonly least: number; readonly most: number }
  | { readonly kind: "rule"; readonly name: string };

export type Grammar = ReadonlyMap<string, Expression>;

export const never: Expression = { kind: "choice", options: [] };
export const nothing: Expression = { kind: "sequence", parts: [] };

export function text(written: string): Expression {
  return { kind: "text", text: written };
}

export function characters(set: CharacterSet): Expression {
  return { kind: "characters", set };
}

export function rule(name: string): Expression {
  return { kind: "rule", name };
}

export function sequence(...parts: readonly Expression[]): Expression {
  return { kind: "sequence", parts: parts.filter((part) => part !== nothing) };
}

export function choice(...options: readonly Expression[]): Expression {
  const [only] = options;
  return options.length === 1 && only !== undefined ? only : { kind: "choice", options };
}

export function optional(...parts: readonly Expression[]): Expression {
  return repeat(sequence(...parts), 0, 1);
}

/** llama.cpp refuses counts from 2,000 on, so a large one is made of blocks. */
const largestCount = 1000;
const smallBlock = 500;

export function repeat(part: Expression, least: number, most: number): Expression {
  if (most < least) return never;
  if (most <= largestCount || (most === Number.POSITIVE_INFINITY && least <= largestCount))
    return { kind: "repeat", part, least, most };
  const rest = most === Number.POSITIVE_INFINITY ? repeat(part, 0, most) : upTo(part, most - least);
  return sequence(exactly(part, least), rest);
}

function exactly(part: Expression, count: number): Expression {
  if (count <= largestCount) return { kind: "repeat", part, least: count, most: count };
  const times = Math.floor(count / largestCount);
  return sequence(exactly(exactly(part, largestCount), times), exactly(part, count % largestCount));
}

/** Some whole blocks and a rest; the rest reaches over a block, so that no count between is missed. */
function upTo(part: Expression, count: number): Expression {
  if (count <= largestCount) return { kind: "repeat", part, least: 0, most: count };
  const block = count <= smallBlock * largestCount ? smallBlock : smallBlock * smallBlock;
  const times = Math.floor((count - block + 1) / block);
  const blocks: Expression = { kind: "repeat", part: exactly(part, block), least: 0, most: times };
  return sequence(blocks, upTo(part, count - times * block));
}
