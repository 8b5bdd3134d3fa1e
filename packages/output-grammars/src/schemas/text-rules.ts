import { type Automaton, intersect } from "../automata/automaton.ts";
import { boundLength } from "../automata/build-automata.ts";
import { automatonOfPattern } from "../automata/pattern-automaton.ts";
import { type Expression, never, repeat, rule, sequence, text } from "../grammar.ts";
import { jsonString } from "../json-rules.ts";
import { writeAutomaton } from "./automaton-rules.ts";
import type { Branch } from "./flatten-schema.ts";
import type { RuleTable } from "./rule-table.ts";
import { withKeyword } from "./schema-failure.ts";
import type { SchemaNode } from "./schema-node.ts";
import { patternOfFormat } from "./text-formats.ts";

export type TextContext = {
  readonly table: RuleTable;
  /**
   * Whether to apply formats. Their patterns are narrower than the standards, so they must not be used to compare
   * schemas.
   */
  readonly keepsFormats: boolean;
};

/** A JSON string that satisfies the length limits, patterns and formats of all nodes. */
export function writeText(branch: Branch, context: TextContext): Expression {
  const min = Math.max(...branch.map((node) => node.text.min));
  const max = Math.min(...branch.map((node) => node.text.max));
  if (min > max) return never;
  const automaton = branch.reduce(
    (joined: Automaton | undefined, node) => restrict(joined, node, context),
    undefined,
  );
  const pointer = branch[0]?.pointer ?? "#";
  if (automaton === undefined) {
    if (min === 0 && max === Number.POSITIVE_INFINITY) return jsonString;
    return quoted(repeat(rule("json-character"), min, max));
  }
  const keyword = max === Number.POSITIVE_INFINITY ? "minLength" : "maxLength";
  const isUnlimited = min === 0 && max === Number.POSITIVE_INFINITY;
  const bounded = isUnlimited
    ? automaton
    : withKeyword(keyword, pointer, () => boundLength(automaton, min, max));
  return quoted(writeAutomaton(bounded, pointer, context.table));
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
    (combined, { keyword, source }) =>
      source === undefined
        ? combined
        : withKeyword(keyword, node.pointer, () => {
            table.countPattern(keyword, node.pointer);
            const automaton = automatonOfPattern(source);
            return combined === undefined ? automaton : intersect(combined, automaton);
          }),
    joined,
  );
}

export function quoted(content: Expression): Expression {
  return sequence(text('"'), content, text('"'));
}
