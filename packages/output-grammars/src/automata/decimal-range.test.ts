import * as fc from "fast-check";
import { expect, test } from "vitest";
import { matches } from "./automaton.ts";
import { automataOfRange, type Bound, type NumberRange } from "./decimal-range.ts";

const interesting = fc.oneof(
  fc.integer({ min: -1200, max: 1200 }),
  fc.integer({ min: -1200, max: 1200 }).map((value) => value / 100),
  fc.constantFrom(0, 0.1, -0.1, 9, 10, 99, 100, 0.001, -1e-7, 123456.789, 1e14),
);

test("a decimal string is accepted exactly if its number is within the bounds", () => {
  let inside = 0;
  const property = fc.property(
    fc.record({
      one: interesting,
      other: interesting,
      isLowerStrict: fc.boolean(),
      isUpperStrict: fc.boolean(),
      values: fc.array(interesting, { minLength: 8, maxLength: 8 }),
    }),
    ({ one, other, isLowerStrict, isUpperStrict, values }) => {
      const lower = { value: Math.min(one, other), isExclusive: isLowerStrict };
      const upper = { value: Math.max(one, other), isExclusive: isUpperStrict };
      const sides = automataOfRange({ isInteger: false, lower, upper });
      for (const value of [...values, one, other, (one + other) / 2]) {
        const decimal = formatDecimal(value);
        if (decimal === undefined) continue;
        inside += Number(isWithin(value, lower, upper));
        expect(accepts(sides, decimal), `${decimal} of ${JSON.stringify({ lower, upper })}`).toBe(
          isWithin(value, lower, upper),
        );
      }
    },
  );
  fc.assert(property, { numRuns: 60, seed: 4 });
  expect(inside).toBeGreaterThan(100);
});

test("an integer string is accepted exactly if its integer is within the bounds", () => {
  const ranges: NumberRange[] = [
    { isInteger: true, lower: { value: 0, isExclusive: false }, upper: { value: 150, isExclusive: false } },
    { isInteger: true, lower: { value: -37, isExclusive: false }, upper: { value: 212, isExclusive: false } },
    { isInteger: true, lower: { value: -99, isExclusive: false }, upper: { value: -10, isExclusive: false } },
    { isInteger: true, lower: { value: 98, isExclusive: false } },
    { isInteger: true, upper: { value: -5, isExclusive: false } },
  ];
  for (const range of ranges) {
    const sides = automataOfRange(range);
    for (let value = -300; value <= 300; value += 1) {
      expect(accepts(sides, String(value)), `${value} of ${JSON.stringify(range)}`).toBe(
        isWithin(value, range.lower, range.upper),
      );
    }
  }
});

test("strings that are not JSON numbers are never accepted", () => {
  const sides = automataOfRange({ isInteger: false, lower: { value: -5, isExclusive: false } });
  const rejected = ["", "-", "01", "1.", ".5", "+1", "-0", "1e2", "1.2.3", "--1"];
  expect(rejected.filter((decimal) => accepts(sides, decimal))).toEqual([]);
  expect(["0", "1", "1.50", "-4.999", "-5"].every((decimal) => accepts(sides, decimal))).toBe(true);
});

/** Formats a number as a plain decimal of at most fifteen digits; undefined if that is impossible. */
function formatDecimal(value: number): string | undefined {
  const decimal = String(value === 0 ? 0 : value);
  return /e/u.test(decimal) || decimal.replaceAll(/\D/gu, "").length > 15 ? undefined : decimal;
}

function accepts(sides: ReturnType<typeof automataOfRange>, decimal: string): boolean {
  const side = decimal.startsWith("-") ? sides.negative : sides.positive;
  return side !== undefined && matches(side, decimal.replace("-", ""));
}

function isWithin(value: number, lower?: Bound, upper?: Bound): boolean {
  const isAbove = lower === undefined || (lower.isExclusive ? value > lower.value : value >= lower.value);
  const isBelow = upper === undefined || (upper.isExclusive ? value < upper.value : value <= upper.value);
  return isAbove && isBelow;
}
