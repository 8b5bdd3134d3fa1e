import { type Automaton, intersect, isEmpty, NotExpressibleError } from "../automata/automaton.ts";
import { automataOfRange, type Bound, type NumberRange } from "../automata/decimal-range.ts";
import { multiplesOf } from "../automata/multiples.ts";
import { choice, type Expression, never, rule, sequence, text } from "../grammar.ts";
import { writeAutomaton } from "./automaton-rules.ts";
import type { Branch } from "./flatten-schema.ts";
import type { RuleTable } from "./rule-table.ts";
import { type Enforcement, express, leaveOut } from "./schema-failure.ts";

/** Larger bounds have no effect, because generated numbers have at most 15 digits and integers 19. */
const maxNumber = 1e15;
const maxInteger = 1e19;

export type NumberContext = { readonly table: RuleTable; readonly enforcement: Enforcement };

type Range = { readonly lower?: Bound; readonly upper?: Bound };

/** A JSON number or integer that satisfies the bounds and factors of all nodes. */
export function writeNumber(branch: Branch, isInteger: boolean, context: NumberContext): Expression {
  const factors = branch.flatMap(({ number }) => number.multipleOf ?? []);
  // A multiple of an integer is an integer, and is written as one.
  if (!isInteger && factors.some((factor) => Number.isInteger(factor)))
    return writeNumber(branch, true, context);
  const range = isInteger ? integerRange(rangeOf(branch), branch, context) : rangeOf(branch);
  const { lower, upper } = range;
  const anyNumber = rule(isInteger ? "json-integer" : "json-number");
  if (lower !== undefined && upper !== undefined && isContradiction(lower, upper)) return never;
  if (lower === undefined && upper === undefined && factors.length === 0) return anyNumber;
  const largest = isInteger ? maxInteger : maxNumber;
  const effectiveRange: NumberRange = {
    isInteger,
    ...(lower === undefined || lower.value <= -largest ? {} : { lower }),
    ...(upper === undefined || upper.value >= largest ? {} : { upper }),
  };
  const location = {
    keyword: keywordOf(branch, lower === undefined ? "upper" : "lower"),
    pointer: pointerOf(branch),
  };
  const bounded = express(context.enforcement, location, () =>
    writeSides(effectiveRange, factors, { ...context, pointer: location.pointer }),
  );
  return bounded ?? anyNumber;
}

function writeSides(
  range: NumberRange,
  factors: readonly number[],
  { table, pointer }: NumberContext & { readonly pointer: string },
): Expression {
  const { positive, negative } = automataOfRange(range);
  const withFactors = (side: Automaton | undefined) =>
    side && factors.reduce((joined, factor) => intersect(joined, multiplesOf(factor)), side);
  const options = [
    ...writeSide(withFactors(positive), (side) => writeAutomaton(side, pointer, table)),
    ...writeSide(withFactors(negative), (side) => sequence(text("-"), writeAutomaton(side, pointer, table))),
  ];
  if (options.length === 0)
    throw new NotExpressibleError("no number in the range is short enough to be compared by its digits");
  return choice(...options);
}

function pointerOf(branch: Branch): string {
  return branch[0]?.pointer ?? "#";
}

function rangeOf(branch: Branch): Range {
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
function integerRange({ lower, upper }: Range, branch: Branch, { enforcement }: NumberContext): Range {
  const inclusive = (side: "lower" | "upper", given: Bound | undefined): Bound | undefined => {
    if (given === undefined) return undefined;
    const { value, isExclusive } = given;
    // Beyond this, adjacent integers are the same floating-point number, so there is no next integer.
    if (isExclusive && Math.abs(value) > Number.MAX_SAFE_INTEGER) {
      leaveOut(enforcement, { keyword: keywordOf(branch, side), pointer: pointerOf(branch) });
      return undefined;
    }
    const whole = side === "lower" ? Math.ceil(value) : Math.floor(value);
    const step = side === "lower" ? 1 : -1;
    // Adding zero turns -0 into 0, which has no sign.
    return { value: (isExclusive && whole === value ? whole + step : whole) + 0, isExclusive: false };
  };
  const inclusiveLower = inclusive("lower", lower);
  const inclusiveUpper = inclusive("upper", upper);
  return {
    ...(inclusiveLower === undefined ? {} : { lower: inclusiveLower }),
    ...(inclusiveUpper === undefined ? {} : { upper: inclusiveUpper }),
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
