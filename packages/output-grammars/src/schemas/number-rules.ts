import { type Automaton, isEmpty } from "../automata/automaton.ts";
import { automataOfRange, type Bound, type NumberRange } from "../automata/decimal-range.ts";
import { choice, type Expression, never, rule, sequence, text } from "../grammar.ts";
import { writeAutomaton } from "./automaton-rules.ts";
import type { Branch } from "./flatten-schema.ts";
import type { RuleTable } from "./rule-table.ts";
import { unsupported, withKeyword } from "./schema-failure.ts";

/** Larger bounds have no effect, because generated numbers have at most 15 digits and integers 19. */
const maxNumber = 1e15;
const maxInteger = 1e19;

/** A JSON number or integer that satisfies the bounds of all nodes. */
export function writeNumber(branch: Branch, isInteger: boolean, table: RuleTable): Expression {
  const range = isInteger ? integerRange(rangeOf(branch), branch) : rangeOf(branch);
  const { lower, upper } = range;
  const largest = isInteger ? maxInteger : maxNumber;
  if (lower !== undefined && upper !== undefined && isContradiction(lower, upper)) return never;
  if (lower === undefined && upper === undefined) return rule(isInteger ? "json-integer" : "json-number");
  const effectiveRange: NumberRange = {
    isInteger,
    ...(lower === undefined || lower.value <= -largest ? {} : { lower }),
    ...(upper === undefined || upper.value >= largest ? {} : { upper }),
  };
  const keyword = keywordOf(branch, lower === undefined ? "upper" : "lower");
  const pointer = branch[0]?.pointer ?? "#";
  const sides = withKeyword(keyword, pointer, () => automataOfRange(effectiveRange));
  const options = [
    ...writeSide(sides.positive, (side) => writeAutomaton(side, pointer, table)),
    ...writeSide(sides.negative, (side) => sequence(text("-"), writeAutomaton(side, pointer, table))),
  ];
  // The range contains numbers, but none that is short enough to be compared by its digits.
  if (options.length === 0) throw unsupported(keyword, pointer);
  return choice(...options);
}

function rangeOf(branch: Branch): { readonly lower?: Bound; readonly upper?: Bound } {
  const lowers = branch.flatMap(({ number }) => [
    ...bound(number.minimum, false),
    ...bound(number.exclusiveMinimum, true),
  ]);
  const uppers = branch.flatMap(({ number }) => [
    ...bound(number.maximum, false),
    ...bound(number.exclusiveMaximum, true),
  ]);
  const lower = lowers.toSorted((one, other) => other.value - one.value || exclusiveFirst(one, other))[0];
  const upper = uppers.toSorted((one, other) => one.value - other.value || exclusiveFirst(one, other))[0];
  return { ...(lower === undefined ? {} : { lower }), ...(upper === undefined ? {} : { upper }) };
}

function exclusiveFirst(one: Bound, other: Bound): number {
  return Number(other.isExclusive) - Number(one.isExclusive);
}

function bound(value: number | undefined, isExclusive: boolean): Bound[] {
  return value === undefined ? [] : [{ value, isExclusive }];
}

/** The same range with integer, inclusive bounds. */
function integerRange(
  { lower, upper }: { readonly lower?: Bound; readonly upper?: Bound },
  branch: Branch,
): { readonly lower?: Bound; readonly upper?: Bound } {
  const pointer = branch[0]?.pointer ?? "#";
  const inclusive = (side: "lower" | "upper", { value, isExclusive }: Bound, step: 1 | -1): Bound => {
    // Beyond this, adjacent integers are the same floating-point number, so there is no next integer.
    if (isExclusive && Math.abs(value) > Number.MAX_SAFE_INTEGER)
      throw unsupported(keywordOf(branch, side), pointer);
    const whole = step === 1 ? Math.ceil(value) : Math.floor(value);
    // Adding zero turns -0 into 0, which has no sign.
    return { value: (isExclusive && whole === value ? whole + step : whole) + 0, isExclusive: false };
  };
  return {
    ...(lower === undefined ? {} : { lower: inclusive("lower", lower, 1) }),
    ...(upper === undefined ? {} : { upper: inclusive("upper", upper, -1) }),
  };
}

function isContradiction(lower: Bound, upper: Bound): boolean {
  return (
    lower.value > upper.value || (lower.value === upper.value && (lower.isExclusive || upper.isExclusive))
  );
}

function keywordOf(branch: Branch, side: "lower" | "upper"): string {
  const [inclusive, exclusive] =
    side === "lower"
      ? (["minimum", "exclusiveMinimum"] as const)
      : (["maximum", "exclusiveMaximum"] as const); // the names themselves
  return branch.some(({ number }) => number[inclusive] !== undefined) ? inclusive : exclusive;
}

function writeSide(side: Automaton | undefined, write: (side: Automaton) => Expression): Expression[] {
  return side === undefined || isEmpty(side) ? [] : [write(side)];
}
