import { expect, test } from "vitest";
import { displayWidth, padToWidth, truncateToWidth, wrapToWidth } from "./text-width.ts";

test.each([
  ["abc", 3],
  ["漢字", 4],
  ["e\u0301", 1],
  ["👩‍🚀", 2],
  ["🇫🇷", 2],
  ["❤️", 2],
  ["\u001B[1mbold\u001B[22m", 4],
])("%j occupies %i columns", (text, columns) => {
  expect(displayWidth(text)).toBe(columns);
});

test("text is truncated and padded by columns, not by characters", () => {
  expect(truncateToWidth("漢字漢字", 6)).toBe("漢字…");
  expect(truncateToWidth("short", 6)).toBe("short");
  expect(padToWidth("漢", 4)).toBe("漢  ");
});

test("lines are wrapped at spaces and inside long words, and none is wider than the window", () => {
  expect(wrapToWidth("one two three", 8)).toEqual(["one two", "three"]);
  expect(wrapToWidth("a漢字漢字漢字", 5)).toEqual(["a漢字", "漢字", "漢字"]);
  for (const line of wrapToWidth(`${"word ".repeat(50)}${"x".repeat(90)}`, 17)) {
    expect(displayWidth(line)).toBeLessThanOrEqual(17);
  }
});

test("a style that is open at a line break is closed before it and reopened after it", () => {
  expect(wrapToWidth("\u001B[1mone two\u001B[22m", 4)).toEqual([
    "\u001B[1mone\u001B[22m",
    "\u001B[1mtwo\u001B[22m",
  ]);
});

test("a wrapped line keeps its indentation, and a full line adds neither spaces nor empty lines", () => {
  expect(wrapToWidth("    if (ready) start();", 15)).toEqual(["    if (ready)", "start();"]);
  expect(wrapToWidth("three seven eight", 5)).toEqual(["three", "seven", "eight"]);
  expect(wrapToWidth("      deep", 4)).toEqual(["   d", "eep"]);
});

test("a text that fits is not changed", () => {
  const decomposed = "e\u0301  x ";
  expect(wrapToWidth(decomposed, 80)).toEqual([decomposed]);
});
