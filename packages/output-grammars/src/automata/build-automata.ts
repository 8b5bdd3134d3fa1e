import { type Automaton, checkStateCount, type Edge, intersect, minimize, type State } from "./automaton.ts";
import { anyCharacter, codePointOf, complementSet, setOf } from "./character-set.ts";

const maxCountedLength = 3000;

/** Keeps the strings with a length from `min` to `max`, counted in code points as in JSON Schema. */
export function boundLength(automaton: Automaton, min: number, max: number): Automaton {
  const states = Number.isFinite(max) ? max : min;
  checkStateCount(states, maxCountedLength);
  const counting = Array.from({ length: states + 1 }, (_, length): State => {
    const target = length < states ? length + 1 : states;
    const isFull = length === states && Number.isFinite(max);
    return { accepts: length >= min, edges: isFull ? [] : anyEdges(target) };
  });
  return intersect(automaton, counting);
}

/** Every string except these. */
export function allExcept(names: readonly string[]): Automaton {
  const states: { accepts: boolean; children: Map<string, number> }[] = [
    { accepts: true, children: new Map() },
  ];
  for (const name of names) {
    let state = states[0];
    for (const character of name) {
      const target = state?.children.get(character) ?? states.length;
      if (target === states.length) states.push({ accepts: true, children: new Map() });
      state?.children.set(character, target);
      state = states[target];
    }
    if (state !== undefined) state.accepts = false;
  }
  const anything = states.length;
  const automaton = states.map(({ accepts, children }): State => {
    const childEdges = [...children].map(([character, target]): Edge => {
      const code = codePointOf(character);
      return { first: code, last: code, target };
    });
    const others = complementSet(setOf([...children.keys()].join(""))).map(
      ([first, last]): Edge => ({ first, last, target: anything }),
    );
    return { accepts, edges: [...childEdges, ...others].toSorted((one, other) => one.first - other.first) };
  });
  return minimize([...automaton, { accepts: true, edges: anyEdges(anything) }]);
}

function anyEdges(target: number): Edge[] {
  return anyCharacter.map(([first, last]) => ({ first, last, target }));
}
