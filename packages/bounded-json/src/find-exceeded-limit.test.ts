import * as fc from "fast-check";
import { expect, test } from "vitest";
import { defaultJsonLimits, findExceededLimit } from "./find-exceeded-limit.ts";

const { maxDepth, maxNodes, maxValues } = defaultJsonLimits;

test.each([
  ["arrays", "[".repeat(maxDepth), "[".repeat(maxDepth + 1)],
  ["objects", '{"a":'.repeat(maxDepth), '{"a":'.repeat(maxDepth + 1)],
  ["both", '[{"a":'.repeat(maxDepth / 2), `[${'[{"a":'.repeat(maxDepth / 2)}`],
])("nested %s are rejected one level above the limit", (_name, atLimit, above) => {
  expect(find(atLimit)).toBeUndefined();
  expect(find(above)).toBe("too-deep");
});

test.each([
  ["objects", `[${"{}".repeat(maxNodes - 1)}]`, `[${"{}".repeat(maxNodes)}]`],
  ["members", `{${'"":0'.repeat(maxNodes - 1)}}`, `{${'"":0'.repeat(maxNodes)}}`],
  ["strings", `["a",${'"a"'.repeat(maxValues - 2)}]`, `["a",${'"a"'.repeat(maxValues - 1)}]`],
  ["values", `[${"0,".repeat(maxValues)}0]`, `[${"0,".repeat(maxValues + 1)}0]`],
])("too many %s are rejected", (_name, atLimit, above) => {
  expect(find(atLimit)).toBeUndefined();
  expect(find(above)).toBe("too-complex");
});

test("brackets in strings do not count, whatever is escaped in them", () => {
  const brackets = "[{".repeat(maxDepth);
  for (const text of [brackets, `"${brackets}`, `\\${brackets}`, `\\"${brackets}\\`, `${brackets}\u2028`]) {
    expect(find(JSON.stringify([text]))).toBeUndefined();
    expect(find(`${"[".repeat(maxDepth)}${JSON.stringify(text)}`)).toBeUndefined();
    expect(find(`${"[".repeat(maxDepth)}${JSON.stringify(text)}[`)).toBe("too-deep");
  }
});

test("strings end at the same quote as for the parser, however many escapes they contain", () => {
  const parts = fc.array(fc.constantFrom('"', "\\", "[", "a", "a".repeat(5000)), { maxLength: 3000 });
  fc.assert(
    fc.property(parts, (texts) => {
      const text = JSON.stringify(texts.join(""));
      expect(find(`${text}${"[".repeat(maxDepth)}`)).toBeUndefined();
      expect(find(`${text}${"[".repeat(maxDepth + 1)}`)).toBe("too-deep");
    }),
    { seed: 4 },
  );
});

test("a string that does not end hides nothing from the parser", () => {
  expect(find(`"${"[".repeat(1000)}`)).toBeUndefined();
  expect(() => JSON.parse(`"${"[".repeat(1000)}`)).toThrow(SyntaxError);
});

test("the depth found equals the depth of the parsed value", () => {
  fc.assert(
    fc.property(fc.json({ maxDepth: 8 }), (text) => {
      const depth = depthOf(JSON.parse(text));
      expect(find(`[${text}]`, depth + 1)).toBeUndefined();
      expect(find(`[${text}]`, depth)).toBe("too-deep");
    }),
    { seed: 3 },
  );
});

test("a body of the largest size is checked in linear time, whatever it consists of", () => {
  const bytes = 32 * 1024 * 1024;
  for (const unit of ["a", "\\", '\\"', "\\\\", " ", "0", '"']) {
    const text = Buffer.from(`["${unit.repeat(bytes / unit.length)}`);
    const startedAt = performance.now();
    findExceededLimit(text);
    expect(performance.now() - startedAt, unit).toBeLessThan(3000);
  }
});

function find(text: string, depth = maxDepth): string | undefined {
  return findExceededLimit(Buffer.from(text), { ...defaultJsonLimits, maxDepth: depth });
}

function depthOf(value: unknown): number {
  if (typeof value !== "object" || value === null) return 0;
  return 1 + Object.values(value).reduce((most: number, each) => Math.max(most, depthOf(each)), 0);
}
