import { expect, test } from "vitest";
import { parseBoundedJson } from "./parse-bounded-json.ts";

test("JSON is parsed; other text and JSON that is too deep are undefined", () => {
  expect(parseBoundedJson('{"a":[1,"[[["]}')).toEqual({ a: [1, "[[["] });
  expect(parseBoundedJson("[".repeat(100) + "]".repeat(100))).toHaveLength(1);
  expect(parseBoundedJson("[".repeat(101) + "]".repeat(101))).toBeUndefined();
  for (const text of ["", "{", "nothing", "[1,]"]) expect(parseBoundedJson(text)).toBeUndefined();
});
