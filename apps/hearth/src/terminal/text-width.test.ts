import { expect, test } from "vitest";
import { cutTo, padTo, widthOf, wrapTo } from "./text-width.ts";

test.each([
  ["abc", 3],
  ["漢字", 4],
  ["e\u0301", 1],
  ["👩‍🚀", 2],
  ["🇫🇷", 2],
  ["❤️", 2],
  ["\u001B[1mbold\u001B[22m", 4],
])("%j takes %i columns", (text, columns) => {
  expect(widthOf(text)).toBe(columns);
});

test("text is cut and filled to columns, not to letters", () => {
  expect(cutTo("漢字漢字", 6)).toBe("漢字…");
  expect(cutTo("short", 6)).toBe("short");
  expect(padTo("漢", 4)).toBe("漢  ");
});

test("lines break at spaces, long words inside, and none is wider than the window", () => {
  expect(wrapTo("one two three", 8)).toEqual(["one two", "three"]);
  expect(wrapTo("a漢字漢字漢字", 5)).toEqual(["a漢字", "漢字", "漢字"]);
  for (const line of wrapTo(`${"word ".repeat(50)}${"x".repeat(90)}`, 17)) {
    expect(widthOf(line)).toBeLessThanOrEqual(17);
  }
});

test("a colour that is open at a break is closed before it and opened after it", () => {
  expect(wrapTo("\u001B[1mone two\u001B[22m", 4)).toEqual([
    "\u001B[1mone\u001B[0m",
    "\u001B[1mtwo\u001B[22m",
  ]);
});
