import { expect, test } from "vitest";
import { findUnboundedValues } from "./unbounded-values.ts";

test("a schema with bounds everywhere has no unbounded value", () => {
  const schema = {
    type: "object",
    required: ["name"],
    properties: {
      name: { type: "string", maxLength: 100 },
      id: { type: "string", format: "uuid" },
      code: { type: "string", pattern: "^[A-Z]{2}(?:-[0-9]{1,4})?$" },
      kind: { type: "string", const: "secret" },
      mode: { enum: ["read", "write"] },
      tags: { type: "array", maxItems: 10, items: { type: "string", maxLength: 20 } },
      pair: { type: "array", additionalItems: false, items: [{ type: "boolean" }, { type: "null" }] },
      share: { type: ["number", "null"], exclusiveMinimum: 0, maximum: 1 },
      labels: {
        type: "object",
        maxProperties: 5,
        patternProperties: { "^[a-z]{1,9}$": { type: "boolean" } },
      },
      either: { anyOf: [{ type: "integer", minimum: 0, maximum: 9 }, { type: "null" }] },
      again: { $ref: "#/$defs/Name" },
    },
    $defs: { Name: { type: "string", maxLength: 5 } },
  };
  expect(findUnboundedValues(schema)).toEqual([]);
});

test.for([
  [{ type: "string" }, "maxLength"],
  [{ type: "string", format: "date-time" }, "maxLength"],
  [{ type: "string", pattern: "^[a-z]+$" }, "maxLength"],
  [{ type: "string", pattern: "[a-z]" }, "maxLength"],
  [{ type: "string", pattern: "^a|b$" }, "maxLength"],
  [{ type: "string", pattern: "^a\\$" }, "maxLength"],
  [{ type: "array", items: { type: "null" } }, "maxItems"],
  [{ type: "integer", minimum: 0 }, "maximum"],
  [{ type: "number", maximum: 0 }, "minimum"],
  [{ type: "object" }, "maxProperties, a bound for its keys"],
  [
    { type: "object", maxProperties: 2, patternProperties: { "^.*$": { type: "null" } } },
    "a bound for its keys",
  ],
  [{ type: "bigint" }, 'a bound this check knows for "bigint"'],
  [{}, "a type"],
  [true, "a type"],
] as const)("%j lacks %s", ([schema, missing]) => {
  const found = findUnboundedValues(schema);
  expect(found.map((value) => value.missing).join(", ")).toBe(missing);
  expect(found.every(({ pointer }) => pointer === "")).toBe(true);
});

test("an unbounded value is reported by its JSON pointer, however deep it is", () => {
  const text = { type: "string" };
  const schema = {
    type: "object",
    properties: {
      "a/b": { type: "array", maxItems: 3, items: text },
      either: { anyOf: [{ type: "null" }, { allOf: [text] }] },
      more: { type: "object", maxProperties: 1, propertyNames: { maxLength: 3 }, additionalProperties: text },
    },
    $defs: { Text: text },
  };
  expect(findUnboundedValues(schema).map(({ pointer }) => pointer)).toEqual([
    "/properties/a~1b/items",
    "/properties/either/anyOf/1/allOf/0",
    "/properties/more/additionalProperties",
    "/$defs/Text",
  ]);
});
