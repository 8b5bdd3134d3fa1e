import { type Automaton, type Edge, minimize, refuseMoreStates, type State } from "./automaton.ts";
import { anyCharacter, type CharacterSet } from "./character-set.ts";
import { type PatternNode, readPattern } from "./read-pattern.ts";

/** A step is taken on a character, or freely, or freely at one end of the text only. */
type Step =
  | { readonly on: "character"; readonly set: CharacterSet; readonly target: number }
  | { readonly on: "nothing" | "start" | "end"; readonly target: number };
type Graph = { readonly steps: Step[][]; readonly final: number };

const mostGraphStates = 5000;
const mostSubsets = 3000;

/** The texts in which the pattern is found somewhere, as JSON Schema's `pattern` has it. */
export function automatonOfPattern(source: string): Automaton {
  const anything: PatternNode = {
    kind: "repeat",
    part: { kind: "characters", set: anyCharacter },
    least: 0,
    most: Number.POSITIVE_INFINITY,
  };
  const node = readPattern(source);
  return determinize(makeGraph({ kind: "sequence", parts: [anything, node, anything] }));
}

function makeGraph(node: PatternNode): Graph {
  const steps: Step[][] = [[]];
  const final = addNode(node, 0, steps);
  return { steps, final };
}

/** Adds the states of a node that starts in `from` and says in which state it ends. */
function addNode(node: PatternNode, from: number, steps: Step[][]): number {
  switch (node.kind) {
    case "characters": {
      const target = addState(steps);
      steps[from]?.push({ on: "character", set: node.set, target });
      return target;
    }
    case "edge": {
      const target = addState(steps);
      steps[from]?.push({ on: node.of, target });
      return target;
    }
    case "sequence":
      return node.parts.reduce((state, part) => addNode(part, state, steps), from);
    case "choice": {
      const target = addState(steps);
      for (const option of node.options) {
        const entry = addFreeStep(from, steps);
        steps[addNode(option, entry, steps)]?.push({ on: "nothing", target });
      }
      return target;
    }
    case "repeat":
      return addRepeat(node, from, steps);
  }
}

function addRepeat(node: PatternNode & { kind: "repeat" }, from: number, steps: Step[][]): number {
  let state = from;
  for (let count = 0; count < node.least; count += 1) state = addNode(node.part, state, steps);
  if (node.most === Number.POSITIVE_INFINITY) {
    const loop = addFreeStep(state, steps);
    const end = addNode(node.part, loop, steps);
    steps[end]?.push({ on: "nothing", target: loop });
    return addFreeStep(loop, steps);
  }
  const skipped = [state];
  for (let count = node.least; count < node.most; count += 1) {
    state = addNode(node.part, state, steps);
    skipped.push(state);
  }
  const target = addState(steps);
  for (const source of skipped) steps[source]?.push({ on: "nothing", target });
  return target;
}

function addFreeStep(from: number, steps: Step[][]): number {
  const target = addState(steps);
  steps[from]?.push({ on: "nothing", target });
  return target;
}

function addState(steps: Step[][]): number {
  refuseMoreStates(steps.length + 1, mostGraphStates);
  return steps.push([]) - 1;
}

function determinize({ steps, final }: Graph): Automaton {
  const numbers = new Map<string, number>();
  const subsets: (readonly number[])[] = [];
  const numberOf = (subset: readonly number[]): number => {
    const key = subset.join();
    const known = numbers.get(key);
    if (known !== undefined) return known;
    refuseMoreStates(subsets.length + 1, mostSubsets);
    subsets.push(subset);
    numbers.set(key, subsets.length - 1);
    return subsets.length - 1;
  };
  // The start is entered once only: a later subset with the same states has "^" behind it already.
  subsets.push(closeOver([0], steps, ["nothing", "start"]));
  const states: State[] = [];
  for (let index = 0; index < subsets.length; index += 1) {
    const subset = subsets[index] ?? [];
    const ends: readonly Step["on"][] = index === 0 ? ["nothing", "start", "end"] : ["nothing", "end"];
    const edges = edgesOf(subset, steps).map(({ range, targets }): Edge => {
      const target = numberOf(closeOver(targets, steps, ["nothing"]));
      return { first: range[0], last: range[1], target };
    });
    states.push({ accepts: closeOver(subset, steps, ends).includes(final), edges });
  }
  return minimize(states);
}

function closeOver(
  from: readonly number[],
  steps: readonly (readonly Step[])[],
  free: readonly Step["on"][],
): number[] {
  const closed = new Set(from);
  for (const state of closed) {
    for (const step of steps[state] ?? []) if (free.includes(step.on)) closed.add(step.target);
  }
  return [...closed].toSorted((one, other) => one - other);
}

type Move = { readonly range: readonly [number, number]; readonly targets: readonly number[] };

/** Cuts the characters where any step begins or ends, so that within a piece all go to the same states. */
function edgesOf(subset: readonly number[], steps: readonly (readonly Step[])[]): Move[] {
  const moves = subset
    .flatMap((state) => steps[state] ?? [])
    .flatMap((step) => (step.on === "character" ? [step] : []));
  const cuts = new Set(moves.flatMap(({ set }) => set.flatMap(([first, last]) => [first, last + 1])));
  const sorted = [...cuts].toSorted((one, other) => one - other);
  return sorted.slice(0, -1).flatMap((first, index): Move[] => {
    const last = (sorted[index + 1] ?? 0) - 1;
    const targets = moves
      .filter(({ set }) => set.some((range) => range[0] <= first && last <= range[1]))
      .map(({ target }) => target);
    return targets.length === 0 ? [] : [{ range: [first, last], targets }];
  });
}
