import { expect, test } from "vitest";
import { checkGrammar } from "./check-grammar.ts";
import { grammarForSchema } from "./schema-grammar.ts";
import { grammarForToolCalls } from "./tool-call-grammar.ts";

const tooAmbiguous = {
  failure: { kind: "grammar-invalid", reason: expect.stringMatching(/^it is too ambiguous/u) },
};

/** Twenty kinds of arrays of themselves, which only their ends distinguish. */
const recursiveArrays = {
  $defs: {
    value: { anyOf: Array.from({ length: 20 }, (_none, index) => array({ $ref: "#/$defs/value" }, index)) },
  },
  $ref: "#/$defs/value",
};

function array(items: object, minItems: number) {
  return { type: "array", items, minItems, maxItems: minItems + 30 };
}

const decoys = Array.from("bcdefghijk", (letter) =>
  Array.from({ length: 40 }, (_none, index) => `"${letter}${index}"`).join(" | "),
).join(" | ");

test.each([
  ["sixteen ways to parse each letter", `root ::= ${'"a" root root | '.repeat(16)} "a"`],
  [
    "2^30 starts",
    [
      "root ::= r0",
      ...Array.from({ length: 30 }, (_none, depth) => `r${depth} ::= r${depth + 1} "x" | r${depth + 1} "y"`),
      'r30 ::= "a"',
    ].join("\n"),
  ],
  ["two ways to parse each bracket", 'root ::= "[" root "]" | "[" root ")" | "x"'],
  [
    "harmless alternatives beside",
    `root ::= ${Array.from({ length: 40 }, (_none, index) => `"\\"b${index}" | `).join("")} list\nlist ::= "[" list "]" | "[" list ")" | "[" list "}" | "x"`,
  ],
  [
    "an ambiguity after a long beginning",
    `root ::= "${"x".repeat(300)}" list\nlist ::= "[" list "]" | "[" list ")" | "x"`,
  ],
  ["long brackets", `root ::= "${"x".repeat(40)}[" root "]" | "${"x".repeat(40)}[" root ")" | "y"`],
  [
    "an ambiguity in one of many rules",
    [
      `root ::= ${Array.from({ length: 200 }, (_none, index) => `r${index}`).join(" | ")}`,
      ...Array.from({ length: 199 }, (_none, index) => `r${index} ::= "k${index}" [a-z]*`),
      'r199 ::= "k" list',
      'list ::= "[" list "]" | "[" list ")" | "x"',
    ].join("\n"),
  ],
  [
    "more harmless alternatives than ambiguous ones at each level",
    `root ::= "a" root root | "a" root root | "a" root root | ${decoys} | "a"`,
  ],
  [
    "harmless alternatives before the ambiguous ones",
    `root ::= ${decoys} | "a" list\nlist ::= "a" list list | "a" list list | "a"`,
  ],
])("a grammar with %s is rejected", (_what, grammar) => {
  expect(() => checkGrammar(grammar)).toThrow(expect.objectContaining(tooAmbiguous));
});

test("a schema of ambiguous recursive arrays is rejected, and one of them is not", () => {
  expect(() => grammarForSchema(recursiveArrays, "strict")).toThrow(expect.objectContaining(tooAmbiguous));
  expect(
    grammarForSchema(
      { $defs: { value: array({ $ref: "#/$defs/value" }, 0) }, $ref: "#/$defs/value" },
      "strict",
    ),
  ).toContain("root ::=");
});

function objectOf(properties: number) {
  const names = Array.from({ length: properties }, (_none, index) => `property${index}`);
  return { type: "object", properties: Object.fromEntries(names.map((name) => [name, { type: "string" }])) };
}

test("large but ordinary schemas, tools and grammars are accepted", () => {
  const names = Array.from({ length: 300 }, (_none, index) => `name${index}`);
  const variants = names
    .slice(0, 20)
    .map((name) => ({ ...objectOf(20), title: name, required: ["property7"] }));
  for (const schema of [objectOf(300), { enum: names }, { anyOf: variants }]) {
    expect(grammarForSchema(schema, "strict")).toContain("root ::=");
  }
  const tools = names.map((name) => ({ name, description: "", parameters: objectOf(3) }));
  const shape = { before: "", after: "", callBefore: "", callAfter: "", separator: "", maxCalls: 4 };
  const layout = { type: "json", nameKey: "name", argumentsKey: "arguments" } as const;
  expect(grammarForToolCalls(tools, { ...shape, layout })).toContain("root ::=");
  expect(checkGrammar('root ::= [a-z]{1,200} (" " [a-z]+)* "."').size).toBe(1);
});
