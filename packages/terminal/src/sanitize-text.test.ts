import { expect, test } from "vitest";
import { sanitizeLine, sanitizeText } from "./sanitize-text.ts";

test.each([
  ["\u001B[31mred\u001B[0m", "␛[31mred␛[0m"],
  ["\u001B]0;title\u0007", "␛]0;title␇"],
  ["\u009B31m", "�31m"],
  ["over\rwritten", "over␍written"],
  ["back\b\b", "back␈␈"],
  ["\u202Eesrever", "�esrever"],
  ["tab\tand\r\nline", "tab    and\nline"],
  ["plain ü 漢 👩‍🚀", "plain ü 漢 👩‍🚀"],
])("%j is made visible", (text, safe) => {
  expect(sanitizeText(text)).toBe(safe);
});

test("sanitizeLine keeps a name on one line", () => {
  expect(sanitizeLine("a\nb\r\n\u001B[2Jc")).toBe("a b ␛[2Jc");
});
