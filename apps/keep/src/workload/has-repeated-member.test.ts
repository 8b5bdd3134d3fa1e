import { expect, test } from "vitest";
import { hasRepeatedMember } from "./has-repeated-member.ts";

test.each([
  '{"a":1,"a":2}',
  '{"a":1,"b":{"c":1,"c":2}}',
  '{"a":1,"\\u0061":2}',
  '[{"x":[]},{"a" : 1,\n"a"\t: 2}]',
  '{"a\\"":1,"a\\"":2}',
])("%s has a repeated member", (json) => {
  expect(hasRepeatedMember(json)).toBe(true);
});

test.each([
  '{"a":1,"b":"a","c":["a","a"]}',
  '{"a":{"a":{"a":1}}}',
  '[{"a":1},{"a":1}]',
  '{"a":"\\",\\"a\\":1","b":"}{"}',
  '"a"',
])("%s has none", (json) => {
  expect(hasRepeatedMember(json)).toBe(false);
});
