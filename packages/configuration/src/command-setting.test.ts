import { expect, test } from "vitest";
import { commandSetting, InvalidValueError } from "./index.ts";

const { parse } = commandSetting({ placeholder: "command", description: "command" });

test.each([
  ["aws kms decrypt --output text", ["aws", "kms", "decrypt", "--output", "text"]],
  ["  a\tb\n c ", ["a", "b", "c"]],
  [`a "b c" 'd "e"' f"g h"'i'`, ["a", "b c", 'd "e"', "fg hi"]],
  [`a "" ''`, ["a", "", ""]],
  ["a $HOME `id` $(id) ~ * | b > c ; d & \\", "a $HOME `id` $(id) ~ * | b > c ; d & \\".split(" ")],
])("%s is split at spaces, and means nothing else", (text, expected) => {
  expect(parse(text)).toEqual(expected);
});

test.each([
  ['a "b', "has a quote that does not end"],
  ["a 'b", "has a quote that does not end"],
  [" ", "must name a program"],
  ['"" a', "must name a program"],
  ["a \0", "must not contain NUL"],
  ["a".repeat(5000), "must have at most 4096 characters"],
])("%j is rejected", (text, message) => {
  expect(() => parse(text)).toThrow(InvalidValueError);
  expect(() => parse(text)).toThrow(message);
});
