import { FailureError } from "@hearth-and-keep/failures";
import { expect, test } from "vitest";
import { GrammarBreaker } from "./grammar-breaker.ts";

function requestWith(grammar: string, cachePartition = "key") {
  return { constraint: { type: "gbnf", grammar } as const, cachePartition };
}

function failureOf(check: () => void): unknown {
  try {
    check();
    return undefined;
  } catch (error) {
    return error instanceof FailureError ? error.failure : error;
  }
}

const rejected = { kind: "grammar-rejected" };

test("a grammar that stalled an engine alone is rejected from every client, and others are not", () => {
  const breaker = new GrammarBreaker();
  breaker.recordStall([requestWith("slow")]);
  expect(failureOf(() => breaker.throwIfRejected(requestWith("slow", "another key")))).toEqual(rejected);
  expect(failureOf(() => breaker.throwIfRejected(requestWith("fast")))).toBeUndefined();
  expect(failureOf(() => breaker.throwIfRejected({ cachePartition: "key" }))).toBeUndefined();
});

test("of several grammars, only one that is among the suspects twice is rejected", () => {
  const breaker = new GrammarBreaker();
  breaker.recordStall([requestWith("slow"), requestWith("innocent")]);
  expect(failureOf(() => breaker.throwIfRejected(requestWith("slow")))).toBeUndefined();
  breaker.recordStall([requestWith("slow"), requestWith("another")]);
  expect(failureOf(() => breaker.throwIfRejected(requestWith("slow")))).toEqual(rejected);
  for (const grammar of ["innocent", "another"]) {
    expect(failureOf(() => breaker.throwIfRejected(requestWith(grammar)))).toBeUndefined();
  }
});

test("a key whose grammars stalled an engine three times in ten minutes cannot use any until they are old", () => {
  let now = 0;
  const breaker = new GrammarBreaker(() => now);
  for (const minute of [0, 4, 8]) {
    now = minute * 60_000;
    expect(failureOf(() => breaker.throwIfRejected(requestWith("fast")))).toBeUndefined();
    breaker.recordStall([requestWith(`slow ${minute}`)]);
  }
  const suspended = { kind: "grammars-suspended", retryAfterSeconds: 120 };
  expect(failureOf(() => breaker.throwIfRejected(requestWith("fast")))).toEqual(suspended);
  expect(failureOf(() => breaker.throwIfRejected(requestWith("fast", "another key")))).toBeUndefined();
  expect(failureOf(() => breaker.throwIfRejected({ cachePartition: "key" }))).toBeUndefined();
  now = 600_000;
  expect(failureOf(() => breaker.throwIfRejected(requestWith("fast")))).toBeUndefined();
});

test("clients without keys of their own are not suspended for what another did", () => {
  const breaker = new GrammarBreaker();
  for (const grammar of ["a", "b", "c", "d"]) breaker.recordStall([requestWith(grammar, "")]);
  expect(failureOf(() => breaker.throwIfRejected(requestWith("fast", "")))).toBeUndefined();
});
