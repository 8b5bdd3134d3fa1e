import { type Automaton, type Edge, intersect, minimize, refuseMoreStates, type State } from "./automaton.ts";
import { anyCharacter, codePointOf, complementSet, setOf } from "./character-set.ts";

const longestCounted = 3000;

/** Keeps the texts of a length between the two, counted in code points as JSON Schema does. */
export function boundLength(automaton: Automaton, least: number, most: number): Automaton {
  const states = Number.isFinite(most) ? most : least;
  refuseMoreStates(states, longestCounted);
  const counting = Array.from({ length: states + 1 }, (_, length): State => {
    const target = length < states ? length + 1 : states;
    const isFull = length === states && Number.isFinite(most);
    return { accepts: length >= least, edges: isFull ? [] : anyEdges(target) };
  });
  return intersect(automaton, counting);
}

/** Every text but these. */
export function allBut(names: readonly string[]): Automaton {
  const states: { accepts: boolean; children: Map<string, number> }[] = [
    { accepts: true, children: new Map() },
  ];
  for (const name of names) {
    let state = states[0];
    for (const character of name) {
      const known = state?.children.get(character) ?? states.length;
      if (known === states.length) states.push({ accepts: true, children: new Map() });
      state?.children.set(character, known);
      state = states[known];
    }
    if (state !== undefined) state.accepts = false;
  }
  const anything = states.length;
  const automaton = states.map(({ accepts, children }): State => {
    const known = [...children].map(([character, target]): Edge => {
      const code = codePointOf(character);
      return { first: code, last: code, target };
    });
    const others = complementSet(setOf([...children.keys()].join(""))).map(
      ([first, last]): Edge => ({ first, last, target: anything }),
    );
    return { accepts, edges: [...known, ...others].toSorted((one, other) => one.first - other.first) };
  });
  return minimize([...automaton, { accepts: true, edges: anyEdges(anything) }]);
}

function anyEdges(target: number): Edge[] {
  return anyCharacter.map(([first, last]) => ({ first, last, target }));
}
