import type { CharacterSet } from "./automata/character-set.ts";

export type Expression =
  | { readonly kind: "text"; readonly text: string }
  | { readonly kind: "characters"; readonly set: CharacterSet }
  | { readonly kind: "sequence"; readonly elements: readonly Expression[] }
  /** Without options, it matches nothing. */
  | { readonly kind: "choice"; readonly options: readonly Expression[] }
  | { readonly kind: "repeat"; readonly element: Expression; readonly min: number; readonly max: number }
  | { readonly kind: "rule"; readonly name: string };

export type Grammar = ReadonlyMap<string, Expression>;

export const never: Expression = { kind: "choice", options: [] };
export const nothing: Expression = { kind: "sequence", elements: [] };

export function text(literal: string): Expression {
  return { kind: "text", text: literal };
}

export function characters(set: CharacterSet): Expression {
  return { kind: "characters", set };
}

export function rule(name: string): Expression {
  return { kind: "rule", name };
}

export function sequence(...elements: readonly Expression[]): Expression {
  return { kind: "sequence", elements: elements.filter((element) => element !== nothing) };
}

export function choice(...options: readonly Expression[]): Expression {
  const [only] = options;
  return options.length === 1 && only !== undefined ? only : { kind: "choice", options };
}

export function optional(...elements: readonly Expression[]): Expression {
  return repeat(sequence(...elements), 0, 1);
}

/** llama.cpp rejects counts from 2,000 on, so larger ones are built from blocks. */
const maxCount = 1000;
const smallBlock = 500;

export function repeat(element: Expression, min: number, max: number): Expression {
  if (max < min) return never;
  if (max <= maxCount || (max === Number.POSITIVE_INFINITY && min <= maxCount))
    return { kind: "repeat", element, min, max };
  const rest = max === Number.POSITIVE_INFINITY ? repeat(element, 0, max) : upTo(element, max - min);
  return sequence(exactly(element, min), rest);
}

function exactly(element: Expression, count: number): Expression {
  if (count <= maxCount) return { kind: "repeat", element, min: count, max: count };
  const times = Math.floor(count / maxCount);
  return sequence(exactly(exactly(element, maxCount), times), exactly(element, count % maxCount));
}

/** Whole blocks and a remainder; the remainder is longer than a block, so that every count can be reached. */
function upTo(element: Expression, count: number): Expression {
  if (count <= maxCount) return { kind: "repeat", element, min: 0, max: count };
  const block = count <= smallBlock * maxCount ? smallBlock : smallBlock * smallBlock;
  const times = Math.floor((count - block + 1) / block);
  const blocks: Expression = { kind: "repeat", element: exactly(element, block), min: 0, max: times };
  return sequence(blocks, upTo(element, count - times * block));
}
