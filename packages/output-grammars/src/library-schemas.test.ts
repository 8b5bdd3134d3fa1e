import { chooseSize, recordFigure } from "@hearth-and-keep/figures";
import { expect, test } from "vitest";
import { listIgnoredKeywords } from "./ignored-keywords.ts";
import { readGrammar } from "./read-grammar.ts";
import { grammarForSchema } from "./schema-grammar.ts";
import type { Enforcement } from "./schemas/schema-failure.ts";
import { acceptsText } from "./test/accept-text.ts";
import { pydanticSchemas } from "./test/pydantic-schemas.ts";
import { type LibrarySchema, zodSchemas } from "./test/zod-schemas.ts";

const needed = chooseSize({ ci: 100, show: 500, nightly: 500 });
const schemas = [...zodSchemas(), ...pydanticSchemas()];
const strictForms = schemas.filter(({ isStrictForm }) => isStrictForm === true);

/** What is wrong with the grammar of a schema; undefined if it separates the two documents. */
function findFault({ schema, valid, invalid }: LibrarySchema, enforcement: Enforcement): string | undefined {
  try {
    const grammar = readGrammar(grammarForSchema(schema, enforcement));
    if (!acceptsText(grammar, JSON.stringify(valid))) return "rejects a valid document";
    const isRejected = invalid === undefined || !acceptsText(grammar, JSON.stringify(invalid));
    return isRejected ? undefined : "accepts an invalid document";
  } catch (error) {
    return `refused: ${JSON.stringify(error)}`;
  }
}

function findFaults(all: readonly LibrarySchema[], enforcement: Enforcement): readonly string[] {
  return all.flatMap((each) => {
    const fault = findFault(each, enforcement);
    return fault === undefined ? [] : [`${each.name}: ${fault} ${JSON.stringify(each.schema)}`];
  });
}

test("a schema of zod or Pydantic is refused: none is unless strict, and their grammars separate documents", () => {
  expect(findFaults(schemas, "lenient")).toEqual([]);
  expect(schemas.length).toBeGreaterThanOrEqual(needed);
  recordFigure({
    claim: "agents 7",
    text: `${schemas.length} schemas as zod 4 and Pydantic send them have a grammar, none is refused`,
    counted: { reached: schemas.length, needed },
  });
});

test("a schema in the form of strict mode is refused: none is, and it is enforced exactly", () => {
  expect(findFaults(strictForms, "strict")).toEqual([]);
  expect(strictForms.length).toBeGreaterThanOrEqual(30);
  recordFigure({
    claim: "agents 7",
    text: `${strictForms.length} of ${strictForms.length} schemas in the form of strict mode are enforced exactly`,
    counted: { reached: strictForms.length, needed: 30 },
  });
});

test("keywords without a grammar are named, and those without an effect are not", () => {
  expect(
    listIgnoredKeywords({
      type: "object",
      properties: {
        not: { type: "array", uniqueItems: true },
        host: { type: "string", format: "hostname", pattern: "(?=x)" },
        code: { type: "string", pattern: "(?=x)" },
        any: { type: "object", propertyNames: { type: "string" } },
      },
      $defs: { odd: { anyOf: [{ multipleOf: 0.3 }, { multipleOf: 3 }] } },
    }),
  ).toEqual(["multipleOf", "pattern", "uniqueItems"]);
  expect(listIgnoredKeywords({ type: "object", properties: { a: { type: "string" } } })).toEqual([]);
});

test("an optional property that nothing satisfies is absent, and a required one is refused", () => {
  const never = { type: "object", properties: { a: { not: {} } } };
  const grammar = readGrammar(grammarForSchema(never, "strict"));
  expect(acceptsText(grammar, "{}")).toBe(true);
  expect(acceptsText(grammar, '{"a":1}')).toBe(false);
  expect(() => grammarForSchema({ ...never, required: ["a"] }, "lenient")).toThrow(
    expect.objectContaining({ failure: { kind: "schema-unsupported", keyword: "schema", location: "#" } }),
  );
});
