import { type Automaton, intersect } from "../automata/automaton.ts";
import { boundLength } from "../automata/build-automata.ts";
import { automatonOfPattern } from "../automata/pattern-automaton.ts";
import { type Expression, never, repeat, rule, sequence, text } from "../grammar.ts";
import { jsonString } from "../json-rules.ts";
import { writeAutomaton } from "./automaton-rules.ts";
import type { Branch } from "./flatten-schema.ts";
import type { RuleTable } from "./rule-table.ts";
import { expressing } from "./schema-failure.ts";
import type { SchemaNode } from "./schema-node.ts";
import { patternOfFormat } from "./text-formats.ts";

export type TextContext = {
  readonly table: RuleTable;
  /** Formats here are narrower than their standards, which matters when looking for what two schemas share. */
  readonly keepsFormats: boolean;
};

/** A JSON string within the length, patterns and formats of all nodes. */
export function writeText(branch: Branch, parts: TextContext): Expression {
  const least = Math.max(...branch.map((node) => node.text.least));
  const most = Math.min(...branch.map((node) => node.text.most));
  if (least > most) return never;
  const automaton = branch.reduce(
    (joined: Automaton | undefined, node) => restrict(joined, node, parts),
    undefined,
  );
  const place = branch[0]?.place ?? "#";
  if (automaton === undefined) {
    if (least === 0 && most === Number.POSITIVE_INFINITY) return jsonString;
    return quoted(repeat(rule("json-character"), least, most));
  }
  const keyword = most === Number.POSITIVE_INFINITY ? "minLength" : "maxLength";
  const isUnlimited = least === 0 && most === Number.POSITIVE_INFINITY;
  const bounded = isUnlimited
    ? automaton
    : expressing(keyword, place, () => boundLength(automaton, least, most));
  return quoted(writeAutomaton(bounded, place, parts.table));
}

function restrict(
  joined: Automaton | undefined,
  node: SchemaNode,
  { keepsFormats, table }: TextContext,
): Automaton | undefined {
  const { pattern, format } = node.text;
  const formatPattern = keepsFormats && format !== undefined ? patternOfFormat(format) : undefined;
  const sources = [
    { keyword: "pattern", source: pattern },
    { keyword: "format", source: formatPattern },
  ];
  return sources.reduce(
    (known, { keyword, source }) =>
      source === undefined
        ? known
        : expressing(keyword, node.place, () => {
            table.countPattern(keyword, node.place);
            const own = automatonOfPattern(source);
            return known === undefined ? own : intersect(known, own);
          }),
    joined,
  );
}

export function quoted(content: Expression): Expression {
  return sequence(text('"'), content, text('"'));
}
