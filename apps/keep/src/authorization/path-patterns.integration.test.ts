import { startProcessorClock } from "@hearth-and-keep/figures";
import { acquireDatabase } from "@hearth-and-keep/test-servers";
import {
  array,
  assert,
  asyncProperty,
  boolean,
  constantFrom,
  oneof,
  property,
  string,
  tuple,
} from "fast-check";
import { Client } from "pg";
import { expect, test } from "vitest";
import {
  isPathPattern,
  matchesBelow,
  pathMatcher,
  pathPrefixes,
  patternsCover,
  prefixCondition,
} from "./path-patterns.ts";

const seed = 20_260_731;
const patternLists = 250;
const pathsPerList = 16;

/** A small pool, so that many of the generated patterns match; most of it means something in a regular expression. */
const names = [
  "a",
  "b",
  "A",
  "ab",
  "a.b",
  ".",
  "a+",
  "(b)",
  "[a]",
  "{2}",
  "a|b",
  "^",
  "$",
  "\\",
  "\\d",
  "-",
  "_",
];
const moreNames = ["?", " ", "a b", "%", "#", "'", '"', "é", "e\u0301", "ß", "日本", "🔑", "***", "a*b"];

const arbitraryName = string({ unit: "grapheme", minLength: 1, maxLength: 6 }).filter((name) =>
  /^[^/\p{Cc}\p{Cs}]+$/u.test(name),
);
const pathSegment = oneof(
  { arbitrary: constantFrom(...names, ...moreNames), weight: 6 },
  { arbitrary: arbitraryName, weight: 1 },
).filter((segment) => segment !== "*" && segment !== "**");
const path = array(pathSegment, { minLength: 1, maxLength: 4 }).map((segments) => `/${segments.join("/")}`);

const patternSegment = oneof(
  { arbitrary: constantFrom("*"), weight: 3 },
  { arbitrary: pathSegment.filter((segment) => !segment.includes("*")), weight: 4 },
);
const pattern = tuple(array(patternSegment, { maxLength: 4 }), boolean())
  .map(([segments, isRecursive]) => `/${[...segments, ...(isRecursive ? ["**"] : [])].join("/")}`)
  .filter((text) => text !== "/");

/** The meaning of a pattern in another form: a regular expression. */
function matchesPath(text: string, candidate: string): boolean {
  const segments = text
    .slice(1)
    .split("/")
    .map((segment) => {
      if (segment === "**") return ".+";
      return segment === "*" ? "[^/]+" : segment.replaceAll(/[\\^$.*+?()[\]{}|/]/gu, String.raw`\$&`);
    });
  return new RegExp(`^/${segments.join("/")}$`, "su").test(candidate);
}

test("the database's filter and the matcher together select the paths that a pattern means", async () => {
  await using testDatabase = await acquireDatabase({ name: "empty", prepare: () => Promise.resolve() });
  await using cleanup = new AsyncDisposableStack();
  const client = cleanup.adopt(new Client(testDatabase.url), (opened) => opened.end());
  await client.connect();
  let pairs = 0;
  let matched = 0;
  const patterns = array(pattern, { minLength: 1, maxLength: 6 });
  const paths = array(path, { minLength: pathsPerList, maxLength: pathsPerList });
  await assert(
    asyncProperty(patterns, paths, async (allowed, candidates) => {
      expect(allowed.filter((text) => !isPathPattern(text))).toEqual([]);
      const { rows } = await client.query<{ path: string }>(
        `SELECT path FROM unnest($1::text[]) WITH ORDINALITY AS candidate (path, position) WHERE ${prefixCondition("path", "$2")} ORDER BY position`,
        [candidates, pathPrefixes(allowed)],
      );
      const expected = candidates.filter((candidate) => allowed.some((text) => matchesPath(text, candidate)));
      expect(rows.map((row) => row.path).filter(pathMatcher(allowed))).toEqual(expected);
      expect(candidates.filter(pathMatcher(allowed))).toEqual(expected);
      pairs += allowed.length * candidates.length;
      matched += expected.length;
    }),
    { seed, numRuns: patternLists },
  );
  expect(pairs).toBeGreaterThanOrEqual(2000);
  // Neither side is trivially empty.
  expect(matched).toBeGreaterThan(200);
});

test("prefixes end at the first wildcard, and one that another begins with is dropped", () => {
  expect(pathPrefixes(undefined)).toBeNull();
  expect(pathPrefixes(["/prod/*/db", "/prod/api/**", "/dev/KEY", "/dev/**"])).toEqual(["/dev/", "/prod/"]);
  expect(pathPrefixes(["/prod/**", "/*/KEY"])).toBeNull();
});

test("a hundred patterns with wildcards are compared with ten thousand paths in a fraction of a second", () => {
  const patterns = Array.from(
    { length: 100 },
    (_, index) =>
      `/${Array.from({ length: 7 }, (_segment, bit) => ((index >> bit) % 2 === 0 ? "*" : "a")).join("/")}/no`,
  );
  const matcher = pathMatcher(patterns);
  const elapsed = startProcessorClock();
  let matched = 0;
  for (let index = 0; index < 10_000; index += 1) if (matcher("/a/a/a/a/a/a/a/b")) matched += 1;
  expect(matched).toBe(0);
  expect(elapsed()).toBeLessThan(2000);
});

test("a pattern matches below a folder exactly when it matches some path in it", () => {
  const folderSegments = array(pathSegment, { maxLength: 3 });
  const rest = array(pathSegment, { minLength: 1, maxLength: 3 });
  assert(
    property(pattern, folderSegments, rest, (text, segments, below) => {
      const candidates = [[...segments, ...below], witnessBelow(text, segments)].map(
        (all) => `/${all.join("/")}`,
      );
      const isMatched = candidates.some((candidate) => matchesPath(text, candidate));
      expect(matchesBelow(text, `/${segments.join("/")}`)).toBe(isMatched);
    }),
    { seed, numRuns: 2000 },
  );
});

/** A path below the folder that the pattern matches if it matches any: the pattern's own names, then `x` for wildcards. */
function witnessBelow(text: string, folder: readonly string[]): readonly string[] {
  const named = text
    .slice(1)
    .split("/")
    .map((segment) => (segment.startsWith("*") ? "x" : segment));
  return [...folder, ...(named.length > folder.length ? named.slice(folder.length) : ["x"])];
}

test("a pattern that covers another matches every path that the other matches", () => {
  assert(
    property(pattern, pattern, path, (outer, inner, candidate) => {
      expect(patternsCover([outer], [outer])).toBe(true);
      const isCovered = patternsCover([outer], [inner]) && matchesPath(inner, candidate);
      expect(!isCovered || matchesPath(outer, candidate)).toBe(true);
    }),
    { seed, numRuns: 2000 },
  );
});
