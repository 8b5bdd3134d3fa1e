import { type Automaton, intersect, isEmpty } from "../automata/automaton.ts";
import { boundLength } from "../automata/build-automata.ts";
import { automatonOfPattern } from "../automata/pattern-automaton.ts";
import { type Expression, never, repeat, rule, sequence, text } from "../grammar.ts";
import { jsonString } from "../json-rules.ts";
import { writeAutomaton } from "./automaton-rules.ts";
import type { Branch } from "./flatten-schema.ts";
import type { RuleTable } from "./rule-table.ts";
import { type Enforcement, express } from "./schema-failure.ts";
import type { SchemaNode } from "./schema-node.ts";
import { patternOfFormat } from "./text-formats.ts";

export type TextContext = {
  readonly table: RuleTable;
  readonly enforcement: Enforcement;
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
  const pointer = branch[0]?.pointer ?? "#";
  const automata = branch.map((node) => automatonOf(node, context)).filter((own) => own !== undefined);
  const automaton = automata.reduce(
    (joined: Automaton | undefined, own) =>
      joined === undefined
        ? own
        : (express(context.enforcement, { keyword: "pattern", pointer }, () => intersect(joined, own)) ??
          joined),
    undefined,
  );
  if (automaton === undefined) {
    if (min === 0 && max === Number.POSITIVE_INFINITY) return jsonString;
    return quoted(repeat(rule("json-character"), min, max));
  }
  const keyword = max === Number.POSITIVE_INFINITY ? "minLength" : "maxLength";
  const isUnlimited = min === 0 && max === Number.POSITIVE_INFINITY;
  const bounded = isUnlimited
    ? automaton
    : express(context.enforcement, { keyword, pointer }, () => boundLength(automaton, min, max));
  return quoted(writeAutomaton(bounded ?? automaton, pointer, context.table));
}

/**
 * Libraries send a pattern of their own beside a format. A pattern that cannot be expressed is left to the format. If no
 * text satisfies both, the pattern decides: a format's pattern is narrower than the standard, and by the specification
 * a format is an annotation.
 */
function automatonOf({ text: limits, pointer }: SchemaNode, context: TextContext): Automaton | undefined {
  const { table, keepsFormats, enforcement } = context;
  const { pattern, format = "" } = limits;
  const compile = (keyword: string, source: string | undefined, mode: Enforcement) =>
    source === undefined
      ? undefined
      : express(mode, { keyword, pointer }, () => {
          table.countPattern();
          return automatonOfPattern(source);
        });
  const byFormat = compile("format", keepsFormats ? patternOfFormat(format) : undefined, enforcement);
  const byPattern = compile("pattern", pattern, byFormat === undefined ? enforcement : "lenient");
  if (byFormat === undefined || byPattern === undefined) return byPattern ?? byFormat;
  const both = express(enforcement, { keyword: "pattern", pointer }, () => intersect(byFormat, byPattern));
  return both === undefined || isEmpty(both) ? byPattern : both;
}

export function quoted(content: Expression): Expression {
  return sequence(text('"'), content, text('"'));
}
