import { type Automaton, intersect } from "./automaton.ts";
import { automatonOfPattern } from "./pattern-automaton.ts";

export type Bound = { readonly value: number; readonly isExclusive: boolean };
export type NumberRange = {
  readonly isInteger: boolean;
  readonly lower?: Bound;
  readonly upper?: Bound;
};
/** What a number looks like without its sign; the negative side never holds zero. */
export type SignedSides = { readonly positive?: Automaton; readonly negative?: Automaton };

/** A size to compare with, as its digits before and after the point. */
type Size = { readonly whole: string; readonly fraction: string; readonly isExclusive: boolean };
type Side = { readonly isInteger: boolean; readonly least?: Size; readonly most?: Size };

/**
 * The decimal texts within a range. Texts of up to fifteen digits keep their order as floating point numbers, so
 * comparing digits decides as a validator does; integers may be longer, because their bounds are inclusive.
 */
export function automataOfRange(range: NumberRange): SignedSides {
  const { isInteger } = range;
  const lower = range.lower === undefined ? undefined : sizeOf(range.lower);
  const upper = range.upper === undefined ? undefined : sizeOf(range.upper);
  const isLowerNegative = range.lower === undefined || range.lower.value < 0;
  const isUpperNegative = range.upper !== undefined && range.upper.value < 0;
  const zero: Size = { whole: "0", fraction: "", isExclusive: true };
  const sides: { positive?: Automaton; negative?: Automaton } = {};
  if (!isUpperNegative) {
    const least = isLowerNegative ? undefined : lower;
    sides.positive = automatonOfSide({ isInteger, ...given("least", least), ...given("most", upper) });
  }
  if (isLowerNegative) {
    const least = isUpperNegative ? upper : zero;
    sides.negative = automatonOfSide({ isInteger, ...given("least", least), ...given("most", lower) });
  }
  return sides;
}

function given<Name extends string>(name: Name, size: Size | undefined): { readonly [key in Name]?: Size } {
  // The one key is the one asked for.
  return size === undefined ? {} : ({ [name]: size } as { readonly [key in Name]?: Size });
}

function sizeOf({ value, isExclusive }: Bound): Size {
  const [digits = "", exponent = "0"] = Math.abs(value).toExponential().split("e");
  const [leading = "0", following = ""] = digits.split(".");
  const shift = Number(exponent);
  const all = leading + following;
  const whole = shift < 0 ? "0" : all.slice(0, shift + 1).padEnd(shift + 1, "0");
  const fraction = shift < 0 ? "0".repeat(-shift - 1) + all : all.slice(shift + 1);
  return { whole, fraction: fraction.replace(/0+$/u, ""), isExclusive };
}

function automatonOfSide({ isInteger, least, most }: Side): Automaton {
  const shape = isInteger
    ? String.raw`^(?:0|[1-9]\d{0,18})$`
    : String.raw`^(?:0|[1-9]\d{0,14})(?:\.\d{1,14})?$`;
  let automaton = automatonOfPattern(shape);
  // Fifteen digits and the point.
  if (!isInteger) automaton = intersect(automaton, automatonOfPattern("^.{1,16}$"));
  if (least !== undefined) automaton = intersect(automaton, automatonOfPattern(atLeast(least)));
  if (most !== undefined) automaton = intersect(automaton, automatonOfPattern(atMost(most)));
  return automaton;
}

const anyFraction = String.raw`(?:\.\d+)?`;

function atLeast({ whole, fraction, isExclusive }: Size): string {
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

function atMost({ whole, fraction, isExclusive }: Size): string {
  const options: string[] = [];
  if (whole.length > 1) options.push(String.raw`(?:0|[1-9]\d{0,${whole.length - 2}})${anyFraction}`);
  for (const [index, digit] of Array.from(whole).entries()) {
    const smallest = index === 0 && whole.length > 1 ? 1 : 0;
    if (Number(digit) <= smallest) continue;
    const rest = String.raw`\d{${whole.length - index - 1}}`;
    options.push(`${whole.slice(0, index)}[${smallest}-${Number(digit) - 1}]${rest}${anyFraction}`);
  }
  for (const [index, digit] of Array.from(fraction).entries()) {
    // Fewer digits than the bound has are less than it, because its last digit is not zero.
    options.push(index === 0 ? whole : String.raw`${whole}\.${fraction.slice(0, index)}`);
    if (digit === "0") continue;
    options.push(String.raw`${whole}\.${fraction.slice(0, index)}[0-${Number(digit) - 1}]\d*`);
  }
  if (!isExclusive)
    options.push(fraction === "" ? String.raw`${whole}(?:\.0+)?` : String.raw`${whole}\.${fraction}0*`);
  return options.length === 0 ? String.raw`^[^\s\S]$` : `^(?:${options.join("|")})$`;
}
