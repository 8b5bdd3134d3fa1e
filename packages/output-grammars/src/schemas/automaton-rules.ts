import type { Automaton, State } from "../automata/automaton.ts";
import {
  type CharacterRange,
  type CharacterSet,
  intersectSets,
  joinSets,
  setOf,
} from "../automata/character-set.ts";
import { characters, choice, type Expression, nothing, rule, sequence, text } from "../grammar.ts";
import { rawCharacters } from "../json-rules.ts";
import type { RuleTable } from "./rule-table.ts";

const shortEscapes = new Map(
  Object.entries({ '"': '"', "\\": "\\", "\b": "b", "\f": "f", "\n": "n", "\r": "r", "\t": "t" }),
);

/** One rule per state; the strings are escaped as inside the quotes of a JSON string. */
export function writeAutomaton(automaton: Automaton, pointer: string, table: RuleTable): Expression {
  const names = automaton.map(() => table.reserve(pointer));
  for (const [index, name] of names.entries()) {
    const state = automaton[index] ?? { accepts: false, edges: [] };
    const options = [...setsByTarget(state)].map(([target, set]) =>
      sequence(writeSet(set), isLast(automaton[target]) ? nothing : rule(names[target] ?? "")),
    );
    table.define(name, choice(...options, ...(state.accepts ? [nothing] : [])));
  }
  return rule(names[0] ?? "");
}

function setsByTarget({ edges }: State): ReadonlyMap<number, CharacterSet> {
  const byTarget = new Map<number, CharacterSet>();
  for (const { first, last, target } of edges) {
    byTarget.set(target, joinSets(byTarget.get(target) ?? [], [[first, last]]));
  }
  return byTarget;
}

function isLast(state: State | undefined): boolean {
  return state?.accepts === true && state.edges.length === 0;
}

/** Control characters without a short escape are written only if there is no alternative. */
function writeSet(set: CharacterSet): Expression {
  const raw = intersectSets(set, rawCharacters);
  const letters = [...shortEscapes].filter(([character]) => intersectSets(set, setOf(character)).length > 0);
  const escapes =
    letters.length === 0
      ? []
      : [sequence(text("\\"), characters(setOf(letters.map(([, letter]) => letter).join(""))))];
  const options = [...(raw.length === 0 ? [] : [characters(raw)]), ...escapes];
  if (options.length > 0) return choice(...options);
  const codes = set.flatMap(([first, last]: CharacterRange) =>
    Array.from({ length: last - first + 1 }, (_, index) => first + index),
  );
  return choice(...codes.map((code) => text(`\\u${code.toString(16).padStart(4, "0")}`)));
}
