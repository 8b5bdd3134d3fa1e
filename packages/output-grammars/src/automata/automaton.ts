/**
 * @module
 * Sets of strings as deterministic finite automata: patterns, formats, number ranges, and all names except given ones.
 * Intersections are exact, so a pattern can be combined with a length limit or another pattern. Sets that exceed the
 * limits here are rejected with a NotExpressibleError and never approximated.
 * Imported by this package only.
 */
import { codePointOf } from "./character-set.ts";

export type Edge = { readonly first: number; readonly last: number; readonly target: number };
/** Edges are sorted and do not overlap; a character without an edge is rejected. */
export type State = { readonly accepts: boolean; readonly edges: readonly Edge[] };
/** State 0 is the start. */
export type Automaton = readonly State[];

/** Thrown for a set of strings that cannot be expressed exactly within the limits. */
export class NotExpressibleError extends Error {
  override readonly name = "NotExpressibleError";
}

/** Each state becomes a grammar rule, so this limits the grammar too. */
const maxStates = 3000;

/** The strings that are in both sets. */
export function intersect(one: Automaton, other: Automaton): Automaton {
  const numbers = new Map<number, number>();
  const pairs: [number, number][] = [];
  const numberOf = (left: number, right: number): number => {
    const key = left * other.length + right;
    const known = numbers.get(key);
    if (known !== undefined) return known;
    checkStateCount(pairs.length + 1, maxStates * 4);
    pairs.push([left, right]);
    numbers.set(key, pairs.length - 1);
    return pairs.length - 1;
  };
  numberOf(0, 0);
  const states: State[] = [];
  for (let index = 0; index < pairs.length; index += 1) {
    const [left, right] = pairs[index] ?? [0, 0];
    const edges = (one[left]?.edges ?? []).flatMap((edge) =>
      (other[right]?.edges ?? [])
        .filter(({ first, last }) => first <= edge.last && last >= edge.first)
        .map(({ first, last, target }) => ({
          first: Math.max(first, edge.first),
          last: Math.min(last, edge.last),
          target: numberOf(edge.target, target),
        })),
    );
    states.push({ accepts: (one[left]?.accepts ?? false) && (other[right]?.accepts ?? false), edges });
  }
  return minimize(states);
}

/** The same set with the fewest states; an empty set keeps only a start state that accepts nothing. */
export function minimize(automaton: Automaton): Automaton {
  const alive = withoutDeadEnds(automaton);
  let classes = classesByDepth(alive);
  let count = new Set(classes).size;
  for (;;) {
    const numbers = new Map<string, number>();
    const current = classes;
    classes = alive.map((state, index) => {
      const signature = `${current[index]};${describeEdges(state, current)}`;
      const known = numbers.get(signature) ?? numbers.size;
      numbers.set(signature, known);
      return known;
    });
    if (numbers.size === count) break;
    count = numbers.size;
  }
  checkStateCount(count, maxStates);
  // The start is the first state, so its class is number 0.
  const states: State[] = [];
  for (const [index, state] of alive.entries()) {
    states[classes[index] ?? 0] ??= { accepts: state.accepts, edges: mergeEdges(state, classes) };
  }
  return states;
}

export function checkStateCount(count: number, maxCount: number): void {
  if (count > maxCount) throw new NotExpressibleError(`it needs more than ${maxCount} states`);
}

function withoutDeadEnds(automaton: Automaton): Automaton {
  const alive = new Set(automaton.flatMap((state, index) => (state.accepts ? [index] : [])));
  const sources: number[][] = automaton.map(() => []);
  for (const [index, { edges }] of automaton.entries()) {
    for (const { target } of edges) sources[target]?.push(index);
  }
  for (const index of alive) for (const source of sources[index] ?? []) alive.add(source);
  const kept = [0];
  const numbers = new Map([[0, 0]]);
  for (const index of kept) {
    for (const { target } of automaton[index]?.edges ?? []) {
      if (!alive.has(target) || numbers.has(target)) continue;
      numbers.set(target, kept.length);
      kept.push(target);
    }
  }
  return kept.map((index) => {
    const { accepts = false, edges = [] } = automaton[index] ?? {};
    const renumbered = edges
      .filter(({ target }) => alive.has(target))
      .map((edge) => ({ ...edge, target: numbers.get(edge.target) ?? 0 }));
    return { accepts, edges: renumbered };
  });
}

/**
 * The initial partition: states with different longest paths to an end are not equivalent. Refinement alone would need
 * as many rounds as the longest string has characters.
 */
function classesByDepth(automaton: Automaton): number[] {
  const sources: number[][] = automaton.map(() => []);
  const openEdges = automaton.map(({ edges }) => edges.length);
  for (const [index, { edges }] of automaton.entries()) {
    for (const { target } of edges) sources[target]?.push(index);
  }
  // A state on a cycle is never reached here and keeps 0.
  const longest = automaton.map(() => 0);
  const settled = openEdges.flatMap((count, index) => (count === 0 ? [index] : []));
  for (const index of settled) {
    const { edges = [] } = automaton[index] ?? {};
    longest[index] = 1 + Math.max(0, ...edges.map(({ target }) => longest[target] ?? 0));
    for (const source of sources[index] ?? []) {
      openEdges[source] = (openEdges[source] ?? 0) - 1;
      if (openEdges[source] === 0) settled.push(source);
    }
  }
  return automaton.map(({ accepts }, index) => (longest[index] ?? 0) * 2 + Number(accepts));
}

function describeEdges(state: State, classes: readonly number[]): string {
  return mergeEdges(state, classes)
    .map(({ first, last, target }) => `${first}-${last}>${target}`)
    .join();
}

function mergeEdges({ edges }: State, classes: readonly number[]): Edge[] {
  const merged: { first: number; last: number; target: number }[] = [];
  for (const edge of edges) {
    const target = classes[edge.target] ?? 0;
    const previous = merged.at(-1);
    if (previous?.target === target && previous.last + 1 === edge.first) previous.last = edge.last;
    else merged.push({ ...edge, target });
  }
  return merged;
}

export function isEmpty(automaton: Automaton): boolean {
  return automaton.every(({ accepts }) => !accepts);
}

export function matches(automaton: Automaton, text: string): boolean {
  let state = automaton[0];
  for (const character of text) {
    const code = codePointOf(character);
    const edge = state?.edges.find(({ first, last }) => first <= code && code <= last);
    if (edge === undefined) return false;
    state = automaton[edge.target];
  }
  return state?.accepts ?? false;
}
