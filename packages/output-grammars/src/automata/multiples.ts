import type { Automaton, State } from "./automaton.ts";
import { automatonOfPattern } from "./pattern-automaton.ts";

/** One state for each remainder, combined with those of a range. */
const maxFactor = 100;
const maxFractionDigits = 14;

/** Whether the multiples of a number can be recognized by their digits: small integers, and 0.1, 0.01 and so on. */
export function isExpressibleFactor(factor: number): boolean {
  const isSmall = Number.isInteger(factor) && factor >= 1 && factor <= maxFactor;
  return isSmall || fractionDigits(factor) !== undefined;
}

/** The decimal strings, without sign, of the multiples of such a number. */
export function multiplesOf(factor: number): Automaton {
  const digits = fractionDigits(factor);
  if (digits !== undefined) return automatonOfPattern(String.raw`^\d+(?:\.\d{1,${digits}})?$`);
  return Array.from({ length: factor }, (_, remainder): State => {
    const edges = Array.from({ length: 10 }, (_digit, digit) => {
      const code = 0x30 + digit;
      return { first: code, last: code, target: (remainder * 10 + digit) % factor };
    });
    return { accepts: remainder === 0, edges };
  });
}

function fractionDigits(factor: number): number | undefined {
  const digits = Math.round(-Math.log10(factor));
  return digits >= 1 && digits <= maxFractionDigits && Number(`1e-${digits}`) === factor ? digits : undefined;
}
