import { expect, test } from "vitest";
import { sliceText, startsWord } from "./slice-text.ts";

const cuts = { specials: ["<|end of text|>"], startsWord, prefix: "" };
const slicesOf = (text: string, length: number) => [...sliceText(text, cuts, length)];

test("a text is cut before words, after lines, and between letters and what follows them", () => {
  expect(slicesOf("one two three four", 8)).toEqual(["one two", " three", " four"]);
  expect(slicesOf("first\nsecond\nthird", 8)).toEqual(["first\n", "second\n", "third"]);
  expect(slicesOf("one,two;three", 6)).toEqual(["one", ",two", ";three"]);
});

test("a special token, a contraction and a character of two units stay whole", () => {
  for (const slice of slicesOf("a b<|end of text|>c d", 16)) {
    expect(slice.includes("<|end") === slice.includes("text|>")).toBe(true);
  }
  expect(slicesOf("xx don't", 6)).toEqual(["xx", " don't"]);
  const faces = "\u{1F600}".repeat(9);
  for (const slice of slicesOf(faces, 5)) expect(slice).toMatch(/^(?:\u{1F600})+$/u);
});

test("a word longer than a slice is cut anywhere, and nothing is lost", () => {
  const word = "a".repeat(100);
  expect(slicesOf(word, 30).map(({ length }) => length)).toEqual([30, 30, 30, 10]);
  expect(slicesOf("", 30)).toEqual([""]);
});
