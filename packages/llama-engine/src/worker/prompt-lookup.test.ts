import { startProcessorClock } from "@hearth-and-keep/figures";
import type { Token } from "node-llama-cpp";
import { expect, test } from "vitest";
import { PromptLookup } from "./prompt-lookup.ts";

/** One token per character. */
function tokensOf(text: string): Token[] {
  // The binding brands its token ids; any numbers will do.
  return Array.from(text, (character) => character.charCodeAt(0) as Token);
}

function guessAfter(text: string, maxTokens = 4) {
  const guess = new PromptLookup(tokensOf(text)).guess(maxTokens);
  return guess && { text: String.fromCharCode(...guess.tokens), matchedTokens: guess.matchedTokens };
}

test("the tokens after the same tokens are the guess", () => {
  expect(guessAfter("function add; fun")).toEqual({ text: "ctio", matchedTokens: 3 });
});

test("a longer match wins over a later one", () => {
  expect(guessAfter("xabcd! ybce? xabc", 1)).toEqual({ text: "d", matchedTokens: 4 });
});

test("of equal matches the latest wins", () => {
  expect(guessAfter("1abX2abY3ab", 1)).toEqual({ text: "Y", matchedTokens: 2 });
});

test("without an earlier occurrence of the last two tokens there is no guess", () => {
  expect(guessAfter("abcdefg")).toBeUndefined();
  expect(guessAfter("")).toBeUndefined();
  expect(guessAfter("a")).toBeUndefined();
  expect(guessAfter("abab", 0)).toBeUndefined();
});

test("a text that repeats itself is continued beyond its end", () => {
  expect(guessAfter("-ababab", 6)).toEqual({ text: "ababab", matchedTokens: 4 });
});

test("a text that grows is indexed once, and its new part is found too", () => {
  const tokens = tokensOf("one two ");
  const lookup = new PromptLookup(tokens);
  expect(lookup.guess(4)).toBeUndefined();
  tokens.push(...tokensOf("three; two th"));
  expect(String.fromCharCode(...(lookup.guess(5)?.tokens ?? []))).toBe("ree; ");
});

test("a text of one repeated token costs no more than any other", () => {
  const tokens = tokensOf("a".repeat(20_000));
  const lookup = new PromptLookup(tokens);
  const elapsed = startProcessorClock();
  for (let count = 0; count < 1000; count += 1) {
    tokens.push(...tokensOf("a"));
    expect(lookup.guess(8)?.tokens).toHaveLength(8);
  }
  expect(elapsed()).toBeLessThan(2000);
});
