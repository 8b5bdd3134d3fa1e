import { type Automaton, checkStateCount, type Edge, minimize, type State } from "./automaton.ts";
import { anyCharacter, type CharacterSet } from "./character-set.ts";
import { type PatternNode, readPattern } from "./read-pattern.ts";

/** A transition on a character, or an epsilon transition, possibly only at the start or end of the string. */
type Transition =
  | { readonly on: "character"; readonly set: CharacterSet; readonly target: number }
  | { readonly on: "nothing" | "start" | "end"; readonly target: number };
type Graph = { readonly transitions: Transition[][]; readonly final: number };

const maxGraphStates = 5000;
const maxSubsets = 3000;

/** The strings in which the pattern matches anywhere, as for JSON Schema's `pattern`. */
export function automatonOfPattern(source: string): Automaton {
  const anything: PatternNode = {
    kind: "repeat",
    node: { kind: "characters", set: anyCharacter },
    min: 0,
    max: Number.POSITIVE_INFINITY,
  };
  const node = readPattern(source);
  return determinize(buildGraph({ kind: "sequence", nodes: [anything, node, anything] }));
}

function buildGraph(node: PatternNode): Graph {
  const transitions: Transition[][] = [[]];
  const final = addNode(node, 0, transitions);
  return { transitions, final };
}

/** Adds the states of a node that starts in `from` and returns the state in which it ends. */
function addNode(node: PatternNode, from: number, transitions: Transition[][]): number {
  switch (node.kind) {
    case "characters": {
      const target = addState(transitions);
      transitions[from]?.push({ on: "character", set: node.set, target });
      return target;
    }
    case "edge": {
      const target = addState(transitions);
      transitions[from]?.push({ on: node.of, target });
      return target;
    }
    case "sequence":
      return node.nodes.reduce((state, child) => addNode(child, state, transitions), from);
    case "choice": {
      const target = addState(transitions);
      for (const option of node.options) {
        const entry = addEpsilon(from, transitions);
        transitions[addNode(option, entry, transitions)]?.push({ on: "nothing", target });
      }
      return target;
    }
    case "repeat":
      return addRepeat(node, from, transitions);
  }
}

function addRepeat(
  node: PatternNode & { kind: "repeat" },
  from: number,
  transitions: Transition[][],
): number {
  let state = from;
  for (let count = 0; count < node.min; count += 1) state = addNode(node.node, state, transitions);
  if (node.max === Number.POSITIVE_INFINITY) {
    const loop = addEpsilon(state, transitions);
    const end = addNode(node.node, loop, transitions);
    transitions[end]?.push({ on: "nothing", target: loop });
    return addEpsilon(loop, transitions);
  }
  const skipped = [state];
  for (let count = node.min; count < node.max; count += 1) {
    state = addNode(node.node, state, transitions);
    skipped.push(state);
  }
  const target = addState(transitions);
  for (const source of skipped) transitions[source]?.push({ on: "nothing", target });
  return target;
}

function addEpsilon(from: number, transitions: Transition[][]): number {
  const target = addState(transitions);
  transitions[from]?.push({ on: "nothing", target });
  return target;
}

function addState(transitions: Transition[][]): number {
  checkStateCount(transitions.length + 1, maxGraphStates);
  return transitions.push([]) - 1;
}

function determinize({ transitions, final }: Graph): Automaton {
  const numbers = new Map<string, number>();
  const subsets: (readonly number[])[] = [];
  const numberOf = (subset: readonly number[]): number => {
    const key = subset.join();
    const known = numbers.get(key);
    if (known !== undefined) return known;
    checkStateCount(subsets.length + 1, maxSubsets);
    subsets.push(subset);
    numbers.set(key, subsets.length - 1);
    return subsets.length - 1;
  };
  // The start is entered only once: a later subset with the same states has already passed "^".
  subsets.push(closure([0], transitions, ["nothing", "start"]));
  const states: State[] = [];
  for (let index = 0; index < subsets.length; index += 1) {
    const subset = subsets[index] ?? [];
    const ends: readonly Transition["on"][] = index === 0 ? ["nothing", "start", "end"] : ["nothing", "end"];
    const edges = edgesOf(subset, transitions).map(({ range, targets }): Edge => {
      const target = numberOf(closure(targets, transitions, ["nothing"]));
      return { first: range[0], last: range[1], target };
    });
    states.push({ accepts: closure(subset, transitions, ends).includes(final), edges });
  }
  return minimize(states);
}

function closure(
  from: readonly number[],
  transitions: readonly (readonly Transition[])[],
  free: readonly Transition["on"][],
): number[] {
  const closed = new Set(from);
  for (const state of closed) {
    for (const step of transitions[state] ?? []) if (free.includes(step.on)) closed.add(step.target);
  }
  return [...closed].toSorted((one, other) => one - other);
}

type Move = { readonly range: readonly [number, number]; readonly targets: readonly number[] };

/**
 * Splits the characters at the bounds of all transitions, so that all characters of a range lead to the same states.
 */
function edgesOf(subset: readonly number[], transitions: readonly (readonly Transition[])[]): Move[] {
  const moves = subset
    .flatMap((state) => transitions[state] ?? [])
    .flatMap((transition) => (transition.on === "character" ? [transition] : []));
  const bounds = new Set(moves.flatMap(({ set }) => set.flatMap(([first, last]) => [first, last + 1])));
  const sorted = [...bounds].toSorted((one, other) => one - other);
  return sorted.slice(0, -1).flatMap((first, index): Move[] => {
    const last = (sorted[index + 1] ?? 0) - 1;
    const targets = moves
      .filter(({ set }) => set.some((range) => range[0] <= first && last <= range[1]))
      .map(({ target }) => target);
    return targets.length === 0 ? [] : [{ range: [first, last], targets }];
  });
}
