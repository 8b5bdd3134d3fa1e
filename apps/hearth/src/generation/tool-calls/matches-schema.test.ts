import type { JsonObject, JsonValue } from "@hearth-and-keep/engine";
import { startProcessorClock } from "@hearth-and-keep/figures";
import { expect, test } from "vitest";
import { matchesSchema } from "./matches-schema.ts";

const point = { type: "object", properties: { x: { type: "integer" } }, required: ["x"] } as const;
const closed = { ...point, additionalProperties: false } as const;
const tree = {
  $defs: { node: { type: "object", properties: { next: { $ref: "#/$defs/node" } }, required: ["id"] } },
  $ref: "#/$defs/node",
} as const;

type Case = readonly [
  rule: string,
  schema: JsonObject,
  valid: readonly JsonValue[],
  invalid: readonly JsonValue[],
];

const cases: readonly Case[] = [
  ["a type", { type: "string" }, ["a", ""], [1, null, {}, []]],
  ["an integer is a number", { type: "number" }, [1, 1.5], ["1"]],
  ["a fraction is no integer", { type: "integer" }, [1, 2.0], [1.5]],
  ["several types", { type: ["string", "null"] }, ["a", null], [1]],
  ["listed values", { enum: ["a", { b: [1] }] }, ["a", { b: [1] }], ["b", { b: [2] }]],
  ["a constant", { const: 3 }, [3], ["3"]],
  ["required fields", point, [{ x: 1 }, { x: 1, y: 2 }], [{}, { y: 1 }, { x: "1" }]],
  ["no other fields", closed, [{ x: 1 }], [{ x: 1, y: 2 }]],
  ["names of the prototype are fields", closed, [{ x: 1 }], [{ x: 1, constructor: 1 }]],
  ["other fields by schema", { additionalProperties: { type: "null" } }, [{ a: null }], [{ a: 1 }]],
  [
    "other fields beside patterns are not checked",
    { ...closed, patternProperties: {} },
    [{ x: 1, y: 2 }],
    [],
  ],
  ["items", { items: { type: "integer" }, minItems: 1, maxItems: 2 }, [[1], [1, 2]], [[], ["a"], [1, 2, 3]]],
  ["tuples", { prefixItems: [{ type: "string" }], items: false }, [["a"], []], [[1], ["a", 1]]],
  ["bounds", { minimum: 1, exclusiveMaximum: 3 }, [1, 2.9], [0, 3]],
  ["lengths in characters", { minLength: 1, maxLength: 2 }, ["a", "😀😀"], ["", "abc"]],
  ["one of several", { anyOf: [{ type: "null" }, point] }, [null, { x: 1 }], [1, {}]],
  ["all of several", { allOf: [point, { required: ["y"] }] }, [{ x: 1, y: 1 }], [{ x: 1 }]],
  ["references that recur", tree, [{ id: 1, next: { id: 2 } }], [{ id: 1, next: {} }]],
  ["a reference to the root", { properties: { a: { $ref: "#" } }, required: ["a"] }, [1], [{}, { a: {} }]],
  ["what is no schema allows anything", { type: "object", properties: { a: 5 } }, [{ a: 1 }], []],
];

test.for(cases)("%s", ([_rule, schema, valid, invalid]) => {
  for (const value of valid) expect([value, matchesSchema(value, schema)]).toEqual([value, true]);
  for (const value of invalid) expect([value, matchesSchema(value, schema)]).toEqual([value, false]);
});

test("hostile schemas take bounded time: loops of references, and options that multiply", () => {
  const elapsed = startProcessorClock();
  expect(matchesSchema({}, { $ref: "#" })).toBe(true);
  const levels = Array.from({ length: 60 }, (_, index): [string, JsonObject] => {
    const next = { $ref: `#/$defs/level${index + 1}` };
    return [`level${index}`, { anyOf: [next, next], allOf: [next, next] }];
  });
  const multiplied = { $defs: Object.fromEntries([...levels, ["level60", false]]), $ref: "#/$defs/level0" };
  matchesSchema({}, multiplied);
  expect(elapsed()).toBeLessThan(1000);
});
