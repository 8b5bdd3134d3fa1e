import { expect, test } from "vitest";
import { makeSafe, makeSafeLine } from "./untrusted-text.ts";

test.each([
  ["\u001B[31mred\u001B[0m", "␛[31mred␛[0m"],
  ["\u001B]0;title\u0007", "␛]0;title␇"],
  ["\u009B31m", "�31m"],
  ["over\rwritten", "over␍written"],
  ["back\b\b", "back␈␈"],
  ["\u202Eesrever", "�esrever"],
  ["tab\tand\r\nline", "tab    and\nline"],
  ["plain ü 漢 👩‍🚀", "plain ü 漢 👩‍🚀"],
])("%j reaches a terminal as text", (text, safe) => {
  expect(makeSafe(text)).toBe(safe);
});

test("a name stays on its line", () => {
  expect(makeSafeLine("a\nb\r\n\u001B[2Jc")).toBe("a b ␛[2Jc");
});
