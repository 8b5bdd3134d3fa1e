import { recordFigure } from "@hearth-and-keep/figures";
import { expect, test } from "vitest";
import { checkGrammar } from "./check-grammar.ts";
import { grammarForSchema } from "./schema-grammar.ts";
import { unsupportedKeywords } from "./schemas/reject-unsupported.ts";

/** Each keyword with a value that must be rejected, and with one that has no effect and is accepted. */
const table: Readonly<Record<string, readonly [rejected: object, accepted: object]>> = {
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
  multipleOf: [
    { type: "number", multipleOf: 0.3 },
    { type: "integer", multipleOf: 3 },
  ],
  patternProperties: [
    { type: "object", patternProperties: { "^a": { type: "null" } } },
    { type: "object", patternProperties: {} },
  ],
  propertyNames: [
    { type: "object", propertyNames: { maxLength: 3 } },
    { type: "object", propertyNames: { type: "string", description: "any" } },
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

test("every keyword without an exact grammar is rejected by name and location, and accepted where it has no effect", () => {
  const reached = Object.entries(table).filter(([keyword, [rejected, accepted]]) => {
    expect(() => grammarForSchema(around(rejected), "strict"), keyword).toThrow(
      failure(keyword, "#/properties/field"),
    );
    expect(checkGrammar(grammarForSchema(around(accepted), "strict")).has("root"), keyword).toBe(true);
    return true;
  });
  expect(Object.keys(table).toSorted()).toEqual(unsupportedKeywords.toSorted());
  recordFigure({
    claim: "engine 9",
    text: `${reached.length} unsupported keywords rejected by name and pointer, each with a form that is accepted`,
    counted: { reached: reached.length, needed: unsupportedKeywords.length },
  });
});

function many<Item>(count: number, item: (index: number) => Item): Item[] {
  return Array.from({ length: count }, (_, index) => item(index));
}
const pair = { anyOf: [{ minimum: 1 }, { maximum: 2 }] };

const others: readonly (readonly [what: string, rejected: unknown, keyword: string, accepted: unknown])[] = [
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
    "a oneOf whose options limit numbers but allow any other type",
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
    "a oneOf of objects that can have both fields",
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
  ["a dangling reference", { $ref: "#/$defs/x" }, "$ref", { $ref: "#/$defs/x", $defs: { x: true } }],
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
    "an unsupported pattern",
    { type: "string", pattern: "(?=a)" },
    "pattern",
    { type: "string", pattern: "(?:a)" },
  ],
  [
    "an exponential number of alternatives",
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
    "too many subschemas",
    {
      type: "object",
      properties: Object.fromEntries(many(6000, (index) => [`p${index}`, { type: "null" }] as const)),
    },
    "size",
    { type: "object", properties: { p: { type: "null" } } },
  ],
  [
    "a bound that no short number satisfies",
    { type: "number", minimum: 1e300 },
    "minimum",
    { type: "number", maximum: 1e300 },
  ],
  [
    "an exclusive integer bound beyond floating-point precision",
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
  ["a value that is not a schema", "text", "schema", {}],
  ["a keyword of the wrong type", { properties: [] }, "properties", { properties: {} }],
  ["an unknown type", { type: "date" }, "type", { type: "string" }],
  ["a negative length", { minLength: -1 }, "minLength", { minLength: 0 }],
];

test.for(others)("%s is rejected by name, and its counterpart is not", ([, rejected, keyword, accepted]) => {
  expect(() => grammarForSchema(rejected, "strict")).toThrow(failure(keyword, expect.stringMatching(/^#/)));
  expect(checkGrammar(grammarForSchema(accepted, "strict")).has("root")).toBe(true);
});

function around(field: object): object {
  return { type: "object", properties: { field }, $defs: { node: { type: "null" } } };
}

function failure(keyword: string, pointer: unknown): unknown {
  return expect.objectContaining({ failure: { kind: "schema-unsupported", keyword, location: pointer } });
}
