import { recordFigure } from "@hearth-and-keep/figures";
import { expect, test } from "vitest";
import { checkGrammar } from "./check-grammar.ts";
import { grammarForSchema } from "./schema-grammar.ts";
import { unsupportedKeywords } from "./schemas/reject-unsupported.ts";

/** Each keyword as it must be refused, and as it limits nothing and is taken. */
const table: Readonly<Record<string, readonly [refused: object, twin: object]>> = {
  $dynamicRef: [{ $dynamicRef: "#node" }, { $ref: "#/$defs/node" }],
  $recursiveRef: [{ $recursiveRef: "#" }, { $ref: "#/$defs/node" }],
  $id: [
    { $id: "urn:inner", type: "null" },
    { $comment: "urn:inner", type: "null" },
  ],
  not: [{ not: { type: "null" } }, { not: false }],
  if: [{ if: { type: "null" }, else: { const: 1 } }, { if: { type: "null" } }],
  contains: [
    { type: "array", contains: { const: 1 } },
    { type: "array", contains: { const: 1 }, minContains: 0 },
  ],
  dependencies: [
    { type: "object", dependencies: { a: ["b"] } },
    { type: "object", dependencies: {} },
  ],
  dependentRequired: [
    { type: "object", dependentRequired: { a: ["b"] } },
    { type: "object", dependentRequired: {} },
  ],
  dependentSchemas: [
    { type: "object", dependentSchemas: { a: false } },
    { type: "object", dependentSchemas: {} },
  ],
  format: [
    { type: "string", format: "regex" },
    { type: "string", format: "uuid" },
  ],
  maxProperties: [
    { type: "object", maxProperties: 1 },
    { type: "object", properties: { a: true }, additionalProperties: false, maxProperties: 1 },
  ],
  minProperties: [
    { type: "object", minProperties: 1 },
    { type: "object", properties: { a: true }, required: ["a"], minProperties: 1 },
  ],
  multipleOf: [{ type: "integer", multipleOf: 3 }, { type: "integer" }],
  patternProperties: [
    { type: "object", patternProperties: { "^a": { type: "null" } } },
    { type: "object", patternProperties: {} },
  ],
  propertyNames: [
    { type: "object", propertyNames: { maxLength: 3 } },
    { type: "object", propertyNames: true },
  ],
  unevaluatedItems: [
    { type: "array", unevaluatedItems: false },
    { type: "array", unevaluatedItems: true },
  ],
  unevaluatedProperties: [
    { type: "object", unevaluatedProperties: false },
    { type: "object", unevaluatedProperties: {} },
  ],
  uniqueItems: [
    { type: "array", items: { type: "integer" }, uniqueItems: true },
    { type: "array", items: { type: "integer" }, uniqueItems: true, maxItems: 1 },
  ],
};

test("every keyword without an exact grammar is refused by its name and place, and is taken where it limits nothing", () => {
  const reached = Object.entries(table).filter(([keyword, [refused, twin]]) => {
    expect(() => grammarForSchema(around(refused)), keyword).toThrow(failure(keyword, "#/properties/field"));
    expect(checkGrammar(grammarForSchema(around(twin))).has("root"), keyword).toBe(true);
    return true;
  });
  expect(Object.keys(table).toSorted()).toEqual(unsupportedKeywords.toSorted());
  recordFigure({
    claim: "engine 9",
    text: `${reached.length} unsupported keywords refused by name and place, each beside a form that is taken`,
    counted: { reached: reached.length, needed: unsupportedKeywords.length },
  });
});

function many<Item>(count: number, item: (index: number) => Item): Item[] {
  return Array.from({ length: count }, (_, index) => item(index));
}
const pair = { anyOf: [{ minimum: 1 }, { maximum: 2 }] };

const others: readonly (readonly [what: string, refused: unknown, keyword: string, twin: unknown])[] = [
  [
    "a oneOf whose options overlap",
    { oneOf: [{ type: "integer" }, { type: "number" }] },
    "oneOf",
    { oneOf: [{ type: "integer" }, { type: "null" }] },
  ],
  [
    "a oneOf whose options leave the type open",
    { oneOf: [{ properties: { a: true } }, { type: "string" }] },
    "oneOf",
    { oneOf: [{ type: "object", properties: { a: true } }, { type: "string" }] },
  ],
  [
    "a oneOf whose options speak of numbers but allow anything else",
    { oneOf: [{ minimum: 5 }, { maximum: 3 }] },
    "oneOf",
    {
      oneOf: [
        { type: "number", minimum: 5 },
        { type: "number", maximum: 3 },
      ],
    },
  ],
  [
    "a oneOf of objects that may have both fields",
    {
      oneOf: [
        { type: "object", properties: { a: true }, required: ["a"] },
        { type: "object", properties: { b: true }, required: ["b"] },
      ],
    },
    "oneOf",
    {
      oneOf: [
        { type: "object", properties: { a: { const: 1 } }, required: ["a"] },
        { type: "object", properties: { a: { const: 2 } }, required: ["a"] },
      ],
    },
  ],
  [
    "a reference to another document",
    { $ref: "https://example.com/x" },
    "$ref",
    { $ref: "#/$defs/x", $defs: { x: true } },
  ],
  ["a reference to nothing", { $ref: "#/$defs/x" }, "$ref", { $ref: "#/$defs/x", $defs: { x: true } }],
  [
    "a reference to a built-in name",
    { $ref: "#/constructor" },
    "$ref",
    { $ref: "#/constructor", constructor: true },
  ],
  [
    "a schema that only refers to itself",
    { $ref: "#" },
    "$ref",
    { type: "object", properties: { a: { $ref: "#" } } },
  ],
  [
    "a pattern without a grammar",
    { type: "string", pattern: "(?=a)" },
    "pattern",
    { type: "string", pattern: "(?:a)" },
  ],
  [
    "alternatives of exponential number",
    { allOf: many(20, () => ({ ...pair })) },
    "anyOf",
    { allOf: many(7, () => ({ ...pair })) },
  ],
  [
    "a pattern of exponential size",
    { type: "string", pattern: "a.{15}b" },
    "pattern",
    { type: "string", pattern: "a.{4}b" },
  ],
  [
    "too many patterns",
    { type: "array", prefixItems: many(101, (index) => ({ pattern: `^a{${index}}$` })) },
    "pattern",
    { type: "array", prefixItems: many(20, (index) => ({ pattern: `^a{${index}}$` })) },
  ],
  [
    "more parts than are read",
    {
      type: "object",
      properties: Object.fromEntries(many(6000, (index) => [`p${index}`, { type: "null" }] as const)),
    },
    "size",
    { type: "object", properties: { p: { type: "null" } } },
  ],
  [
    "a bound that no short number meets",
    { type: "number", minimum: 1e300 },
    "minimum",
    { type: "number", maximum: 1e300 },
  ],
  [
    "an exclusive bound beside which no integer can be told",
    { type: "integer", exclusiveMinimum: 2 ** 60 },
    "exclusiveMinimum",
    { type: "integer", minimum: 2 ** 60 },
  ],
  [
    "a contradiction",
    { allOf: [{ type: "null" }, { type: "string" }] },
    "schema",
    { allOf: [{ type: ["null", "string"] }, { type: "string" }] },
  ],
  ["false", false, "schema", true],
  ["what is no schema", "text", "schema", {}],
  ["a keyword of the wrong shape", { properties: [] }, "properties", { properties: {} }],
  ["an unknown type", { type: "date" }, "type", { type: "string" }],
  ["a length below nothing", { minLength: -1 }, "minLength", { minLength: 0 }],
];

test.for(others)("%s is refused by name, and its twin is not", ([, refused, keyword, twin]) => {
  expect(() => grammarForSchema(refused)).toThrow(failure(keyword, expect.stringMatching(/^#/)));
  expect(checkGrammar(grammarForSchema(twin)).has("root")).toBe(true);
});

function around(field: object): object {
  return { type: "object", properties: { field }, $defs: { node: { type: "null" } } };
}

function failure(keyword: string, place: unknown): unknown {
  return expect.objectContaining({ failure: { kind: "schema-unsupported", keyword, location: place } });
}
