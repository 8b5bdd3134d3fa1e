import { type Automaton, intersect } from "./automaton.ts";
import { automatonOfPattern } from "./pattern-automaton.ts";

export type Bound = { readonly value: number; readonly isExclusive: boolean };
export type NumberRange = {
  readonly isInteger: boolean;
  readonly lower?: Bound;
  readonly upper?: Bound;
};
/** The digits of a number without its sign; the negative side never contains zero. */
export type SignedSides = { readonly positive?: Automaton; readonly negative?: Automaton };

/** A magnitude as its digits before and after the decimal point. */
type Magnitude = { readonly whole: string; readonly fraction: string; readonly isExclusive: boolean };
type Side = { readonly isInteger: boolean; readonly min?: Magnitude; readonly max?: Magnitude };

/**
 * The decimal strings within a range. Up to fifteen digits, the order of floating-point numbers equals that of their
 * digits, so comparing digits gives the same result as a validator. Integers may be longer, because their bounds are
 * inclusive.
 */
export function automataOfRange(range: NumberRange): SignedSides {
  const { isInteger } = range;
  const lower = range.lower === undefined ? undefined : magnitudeOf(range.lower);
  const upper = range.upper === undefined ? undefined : magnitudeOf(range.upper);
  const isLowerNegative = range.lower === undefined || range.lower.value < 0;
  const isUpperNegative = range.upper !== undefined && range.upper.value < 0;
  const zero: Magnitude = { whole: "0", fraction: "", isExclusive: true };
  const sides: { positive?: Automaton; negative?: Automaton } = {};
  if (!isUpperNegative) {
    const min = isLowerNegative ? undefined : lower;
    sides.positive = automatonOfSide({
      isInteger,
      ...optionalBound("min", min),
      ...optionalBound("max", upper),
    });
  }
  if (isLowerNegative) {
    const min = isUpperNegative ? upper : zero;
    sides.negative = automatonOfSide({
      isInteger,
      ...optionalBound("min", min),
      ...optionalBound("max", lower),
    });
  }
  return sides;
}

function optionalBound<Name extends string>(
  name: Name,
  magnitude: Magnitude | undefined,
): { readonly [key in Name]?: Magnitude } {
  // The only key is `name`.
  return magnitude === undefined ? {} : ({ [name]: magnitude } as { readonly [key in Name]?: Magnitude });
}

function magnitudeOf({ value, isExclusive }: Bound): Magnitude {
  const [digits = "", exponent = "0"] = Math.abs(value).toExponential().split("e");
  const [leading = "0", following = ""] = digits.split(".");
  const shift = Number(exponent);
  const all = leading + following;
  const whole = shift < 0 ? "0" : all.slice(0, shift + 1).padEnd(shift + 1, "0");
  const fraction = shift < 0 ? "0".repeat(-shift - 1) + all : all.slice(shift + 1);
  return { whole, fraction: fraction.replace(/0+$/u, ""), isExclusive };
}

function automatonOfSide({ isInteger, min, max }: Side): Automaton {
  const shape = isInteger
    ? String.raw`^(?:0|[1-9]\d{0,18})$`
    : String.raw`^(?:0|[1-9]\d{0,14})(?:\.\d{1,14})?$`;
  let automaton = automatonOfPattern(shape);
  // Fifteen digits and the decimal point.
  if (!isInteger) automaton = intersect(automaton, automatonOfPattern("^.{1,16}$"));
  if (min !== undefined) automaton = intersect(automaton, automatonOfPattern(atLeast(min)));
  if (max !== undefined) automaton = intersect(automaton, automatonOfPattern(atMost(max)));
  return automaton;
}

const anyFraction = String.raw`(?:\.\d+)?`;

function atLeast({ whole, fraction, isExclusive }: Magnitude): string {
  const options = [String.raw`[1-9]\d{${whole.length}}\d*${anyFraction}`];
  for (const [index, digit] of Array.from(whole).entries()) {
    if (digit === "9") continue;
    const rest = String.raw`\d{${whole.length - index - 1}}`;
    options.push(`${whole.slice(0, index)}[${Number(digit) + 1}-9]${rest}${anyFraction}`);
  }
  for (const [index, digit] of Array.from(fraction).entries()) {
    if (digit === "9") continue;
    options.push(String.raw`${whole}\.${fraction.slice(0, index)}[${Number(digit) + 1}-9]\d*`);
  }
  if (isExclusive) options.push(String.raw`${whole}\.${fraction}\d*[1-9]\d*`);
  else options.push(fraction === "" ? whole + anyFraction : String.raw`${whole}\.${fraction}\d*`);
  return `^(?:${options.join("|")})$`;
}

function atMost({ whole, fraction, isExclusive }: Magnitude): string {
  const options: string[] = [];
  if (whole.length > 1) options.push(String.raw`(?:0|[1-9]\d{0,${whole.length - 2}})${anyFraction}`);
  for (const [index, digit] of Array.from(whole).entries()) {
    const smallest = index === 0 && whole.length > 1 ? 1 : 0;
    if (Number(digit) <= smallest) continue;
    const rest = String.raw`\d{${whole.length - index - 1}}`;
    options.push(`${whole.slice(0, index)}[${smallest}-${Number(digit) - 1}]${rest}${anyFraction}`);
  }
  for (const [index, digit] of Array.from(fraction).entries()) {
    // A prefix of the bound's digits is less than the bound, because its last digit is not zero.
    options.push(index === 0 ? whole : String.raw`${whole}\.${fraction.slice(0, index)}`);
    if (digit === "0") continue;
    options.push(String.raw`${whole}\.${fraction.slice(0, index)}[0-${Number(digit) - 1}]\d*`);
  }
  if (!isExclusive)
    options.push(fraction === "" ? String.raw`${whole}(?:\.0+)?` : String.raw`${whole}\.${fraction}0*`);
  return options.length === 0 ? String.raw`^[^\s\S]$` : `^(?:${options.join("|")})$`;
}
