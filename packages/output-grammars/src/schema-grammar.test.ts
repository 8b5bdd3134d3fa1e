import { expect, test } from "vitest";
import { checkGrammar } from "./check-grammar.ts";
import { grammarForJson, grammarForSchema } from "./schema-grammar.ts";
import { acceptsText } from "./test/accept-text.ts";

type Case = {
  readonly rule: string;
  readonly schema: unknown;
  readonly accepted: readonly string[];
  readonly rejected: readonly string[];
};

const cases: readonly Case[] = [
  {
    rule: "optional fields may be absent, required ones may not, and fields appear in declaration order",
    schema: {
      type: "object",
      properties: { a: { const: 1 }, b: { const: 2 }, c: { const: 3 } },
      required: ["b"],
    },
    accepted: ['{"b":2}', '{"a":1,"b":2}', '{"a": 1, "b": 2, "c": 3}', '{\n  "b": 2\n}', '{"b":2,"c":3}'],
    rejected: [
      "{}",
      '{"a":1}',
      '{"b":2,"a":1}',
      '{"b":2,}',
      '{,"b":2}',
      '{"b":2,"d":4}',
      '{"b":2,"b":2}',
      '{"b":  2}',
    ],
  },
  {
    rule: "an additional field cannot have a declared name, not even through an escape",
    schema: {
      type: "object",
      properties: { ab: { type: "null" } },
      additionalProperties: { type: "boolean" },
    },
    accepted: ['{"ab":null}', '{"ab":null,"abc":true}', '{"a":true,"b":false}', '{"":true}', "{}"],
    rejected: ['{"ab":true}', '{"ab":null,"ab":true}', String.raw`{"\u0061b":true}`, '{"x":null}'],
  },
  {
    rule: "an object without declared fields accepts any, and a required one must be among them",
    schema: { type: "object", required: ["id"] },
    accepted: ['{"id":[1]}', '{"id":null,"more":{}}'],
    rejected: ["{}", '{"more":1}', "[]"],
  },
  {
    rule: "a string allows escapes, but no raw control characters and no lone surrogates",
    schema: { type: "string", maxLength: 2 },
    accepted: ['""', '"ab"', String.raw`"\n\u00e9"`, String.raw`"\ud83d\ude00x"`, '"\u{1f600}é"'],
    rejected: [
      '"abc"',
      '"a',
      '"\n"',
      String.raw`"\ud83d"`,
      String.raw`"\udc00\ude00"`,
      String.raw`"\x41"`,
      '"\u0001"',
      '"a"b"',
    ],
  },
  {
    rule: "string lengths are enforced beyond the limit of a single repetition",
    schema: { type: "string", minLength: 1100, maxLength: 2600 },
    accepted: [1100, 1101, 1599, 1600, 2000, 2599, 2600].map((length) => `"${"x".repeat(length)}"`),
    rejected: [0, 1000, 1099, 2601, 3000].map((length) => `"${"x".repeat(length)}"`),
  },
  {
    rule: "a pattern matches anywhere unless it is anchored, and length limits apply too",
    schema: { type: "string", pattern: "b+", minLength: 2, maxLength: 3 },
    accepted: ['"ab"', '"bbb"', String.raw`"b\""`],
    rejected: ['"b"', '"aa"', '"aabb"'],
  },
  {
    rule: "two patterns apply together",
    schema: { allOf: [{ type: "string", pattern: "^[a-c]+$" }, { pattern: "^[b-d]{2}$" }] },
    accepted: ['"bc"'],
    rejected: ['"ab"', '"cd"', '"bbb"'],
  },
  {
    rule: "dates exist in the calendar",
    schema: { type: "string", format: "date" },
    accepted: ['"2024-02-29"', '"2023-02-28"', '"2000-02-29"', '"1999-12-31"'],
    rejected: ['"2023-02-29"', '"1900-02-29"', '"2024-04-31"', '"2024-13-01"', '"24-01-01"'],
  },
  {
    rule: "integer bounds are exact, and an integer has no decimal point",
    schema: { type: "integer", exclusiveMinimum: -3, maximum: 12 },
    accepted: ["-2", "0", "9", "12"],
    rejected: ["-3", "13", "1.0", "-0", "007", "1e1"],
  },
  {
    rule: "number bounds are exact",
    schema: { type: "number", minimum: 0.5, exclusiveMaximum: 2 },
    accepted: ["0.5", "0.50", "1", "1.999999"],
    rejected: ["0.49", "2", "2.0", "-1", "0.4999999"],
  },
  {
    rule: "an array respects its length, its first items and the rest",
    schema: {
      type: "array",
      prefixItems: [{ const: 1 }, { const: 2 }],
      items: { const: 3 },
      minItems: 1,
      maxItems: 4,
    },
    accepted: ["[1]", "[1, 2]", "[1,2,3]", "[1,2,3,3]"],
    rejected: ["[]", "[2]", "[1,3]", "[1,2,3,3,3]", "[1,]"],
  },
  {
    rule: "an array has at least minItems items",
    schema: { type: "array", items: { type: "null" }, minItems: 2 },
    accepted: ["[null,null]", "[null, null, null]"],
    rejected: ["[]", "[null]", "[1,2]"],
  },
  {
    rule: "minItems makes the first items required",
    schema: { type: "array", prefixItems: [{ const: 1 }, { const: 2 }, { const: 3 }], minItems: 2 },
    accepted: ["[1,2]", "[1,2,3]"],
    rejected: ["[]", "[1]", "[1,2,3,4]"],
  },
  {
    rule: "an option that requires items it forbids is omitted",
    schema: {
      anyOf: [{ type: "array", prefixItems: [{ const: 1 }], items: false, minItems: 2 }, { type: "null" }],
    },
    accepted: ["null"],
    rejected: ["[1]", "[]", "[1,1]"],
  },
  {
    rule: "tuples of older drafts are supported",
    schema: { type: "array", items: [{ const: 1 }], additionalItems: { const: 2 } },
    accepted: ["[]", "[1]", "[1,2,2]"],
    rejected: ["[2]", "[1,1]"],
  },
  {
    rule: "a reference can point anywhere in the document, including escaped names",
    schema: {
      type: "array",
      items: { $ref: "#/$defs/a~1b%20c" },
      $defs: { "a/b c": { $ref: "#/$defs/deep/anyOf/0" }, deep: { anyOf: [{ const: "x" }] } },
    },
    accepted: ['["x","x"]'],
    rejected: ['["y"]'],
  },
  {
    rule: "a schema may contain itself",
    schema: { type: "object", properties: { next: { $ref: "#" } } },
    accepted: ["{}", '{"next":{"next":{}}}'],
    rejected: ['{"next":null}'],
  },
  {
    rule: "an infinitely recursive option is omitted if there is an alternative",
    schema: {
      anyOf: [{ $ref: "#/$defs/endless" }, { type: "null" }],
      $defs: {
        endless: { type: "object", properties: { next: { $ref: "#/$defs/endless" } }, required: ["next"] },
      },
    },
    accepted: ["null"],
    rejected: ["{}", '{"next":{}}'],
  },
  {
    rule: "allOf merges objects, and every subschema constrains every field",
    schema: {
      allOf: [
        { type: "object", properties: { a: { type: "integer" } }, required: ["a"] },
        { properties: { a: { minimum: 5, maximum: 6 }, b: { type: "null" } } },
      ],
    },
    accepted: ['{"a":5}', '{"a":6,"b":null}'],
    rejected: ['{"a":4}', "{}", '{"b":null}'],
  },
  {
    rule: "keywords next to anyOf apply to each option",
    schema: {
      type: "object",
      properties: { k: { type: "string" } },
      anyOf: [{ required: ["k"] }, { properties: { n: { const: 1 } }, required: ["n"] }],
    },
    accepted: ['{"k":"x"}', '{"k":"x","n":1}', '{"n":1}'],
    rejected: ["{}", '{"n":2}'],
  },
  {
    rule: "enum values are filtered by the other keywords",
    schema: { type: ["string", "object"], enum: ["ok", "too long", 3, { a: 1 }], maxLength: 3 },
    accepted: ['"ok"', '{"a": 1}', '{ "a":1 }'],
    rejected: ['"too long"', "3", '{"a":2}'],
  },
  {
    rule: "oneOf is supported if its options exclude each other",
    schema: {
      oneOf: [
        { type: "integer", maximum: 0 },
        { type: "number", exclusiveMinimum: 0, maximum: 9 },
        { type: "string" },
      ],
    },
    accepted: ["-5", "0", "0.5", '"x"'],
    rejected: ["-0.5", "10", "null"],
  },
  {
    rule: "true accepts any JSON value",
    schema: true,
    accepted: ["null", "[1,[true]]", '{"a":{"b":"c"}}', "-1.5e10", '"x"'],
    rejected: ["nul", "[1,]", "{a:1}", "01", "1e999"],
  },
  {
    rule: "annotations change nothing",
    schema: {
      $schema: "https://json-schema.org/draft/2020-12/schema",
      $id: "urn:x",
      title: "t",
      description: "d",
      default: 1,
      examples: [1],
      $comment: "c",
      deprecated: true,
      readOnly: true,
      writeOnly: true,
      type: "null",
      "x-own": 1,
    },
    accepted: ["null"],
    rejected: ["1"],
  },
];

test.for(cases)("$rule", ({ schema, accepted, rejected }) => {
  const grammar = checkGrammar(grammarForSchema(schema, "strict"));
  expect(accepted.filter((document) => !acceptsText(grammar, document))).toEqual([]);
  expect(rejected.filter((document) => acceptsText(grammar, document))).toEqual([]);
});

test("there is a grammar for any JSON object and one for any JSON value", () => {
  const object = checkGrammar(grammarForJson());
  const value = checkGrammar(grammarForJson("value"));
  expect(acceptsText(object, '{"a": [1, {}]}')).toBe(true);
  expect(acceptsText(object, "[1]")).toBe(false);
  expect(acceptsText(value, "[1]")).toBe(true);
});
