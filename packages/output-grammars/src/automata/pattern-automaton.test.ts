import { startProcessorClock } from "@hearth-and-keep/figures";
import * as fc from "fast-check";
import { expect, test } from "vitest";
import { matches, NotExpressibleError } from "./automaton.ts";
import { allExcept, boundLength } from "./build-automata.ts";
import { automatonOfPattern } from "./pattern-automaton.ts";

const patterns = [
  "abc",
  "^abc$",
  "^a|c$",
  "a*b+c?",
  "^(?:ab|c){2,3}$",
  "^(?<word>a+)(b|)$",
  "^[^a-c]*$",
  String.raw`^[\w-]+$`,
  String.raw`\d\D|\s\S|\W`,
  "^.{2}$",
  "(^a|b)+?c$",
  "a^b|c$d|$^",
  String.raw`^[\]\\^-]+$`,
  String.raw`\u0061\x62\u{63}`,
  "",
];
const text = fc.string({ unit: fc.constantFrom(...Array.from("abcd12-^\\] \n_é\u{1f600}")), maxLength: 6 });

test.for(patterns)("the automaton of %j agrees with JavaScript's own regular expression", (pattern) => {
  const automaton = automatonOfPattern(pattern);
  const expression = new RegExp(pattern, "u");
  fc.assert(
    fc.property(text, (candidate) => {
      expect(matches(automaton, candidate), JSON.stringify(candidate)).toBe(expression.test(candidate));
    }),
    { numRuns: 300, seed: 9 },
  );
});

const rejected: readonly (readonly [rejected: string, counterpart: string])[] = [
  ["(?=a)b", "(?:a)b"],
  ["(?!a)b", "[^a]b"],
  ["(?<=a)b", "ab"],
  [String.raw`(a)\1`, "(a)a"],
  [String.raw`\bword`, "word"],
  [String.raw`\p{L}`, "[a-z]"],
  ["(a", "(a)"],
  ["a)", "a"],
  ["[a", "[a]"],
  ["*a", "a*"],
  ["a{3,2}", "a{2,3}"],
  ["[b-a]", "[a-b]"],
  ["((a{1,50}){1,50}){1,50}", "((a{1,5}){1,5}){1,5}"],
  ["a.{15}b", "a.{5}b"],
];

test.for(rejected)("the pattern %j is rejected and %j is not", ([pattern, counterpart]) => {
  expect(() => automatonOfPattern(pattern)).toThrow(NotExpressibleError);
  expect(automatonOfPattern(counterpart).length).toBeGreaterThan(0);
});

test("a length limit and a pattern both apply", () => {
  const automaton = boundLength(automatonOfPattern("^(?:ab)+$"), 3, 6);
  const kept = ["ab", "abab", "ababab", "abababab", "abc"].filter((candidate) =>
    matches(automaton, candidate),
  );
  expect(kept).toEqual(["abab", "ababab"]);
});

test("a long string of characters is counted within a second", () => {
  const elapsed = startProcessorClock();
  expect(boundLength(automatonOfPattern("^[a-z]+$"), 0, 2000)).toHaveLength(2001);
  expect(elapsed()).toBeLessThan(5000);
});

test("every string except the given names is accepted", () => {
  const automaton = allExcept(["name", "names", "x"]);
  const candidates = ["", "n", "name", "nam", "names", "namesx", "x", "xx", "\u{1f600}"];
  expect(candidates.filter((candidate) => !matches(automaton, candidate))).toEqual(["name", "names", "x"]);
});
