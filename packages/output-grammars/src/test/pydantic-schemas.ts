import type { LibrarySchema } from "./zod-schemas.ts";

const address = {
  properties: { street: { title: "Street", type: "string" }, zip: { pattern: "^\\d{5}$", type: "string" } },
  required: ["street", "zip"],
  title: "Address",
  type: "object",
};
const home = { street: "Main", zip: "12345" };

type FieldCase = readonly [field: object, valid: unknown, invalid?: unknown];

/** Fields in the form that Pydantic 2 writes for each type. */
const fields: Readonly<Record<string, FieldCase>> = {
  "Optional[int]": [{ anyOf: [{ type: "integer" }, { type: "null" }], default: null }, null, "x"],
  "int | str": [{ anyOf: [{ type: "integer" }, { type: "string" }] }, 1, true],
  "set[str]": [{ items: { type: "string" }, type: "array", uniqueItems: true }, ["a"], [1]],
  "frozenset[int]": [
    { items: { type: "integer" }, type: "array", uniqueItems: true, maxItems: 3 },
    [1],
    ["a"],
  ],
  "dict[str, int]": [{ additionalProperties: { type: "integer" }, type: "object" }, { a: 1 }, { a: "x" }],
  "dict[Literal, int]": [
    { additionalProperties: { type: "integer" }, propertyNames: { enum: ["a", "b"] }, type: "object" },
    { b: 1 },
    { c: 1 },
  ],
  "dict[Enum, int]": [
    { additionalProperties: { type: "integer" }, propertyNames: { $ref: "#/$defs/Color" }, type: "object" },
    { red: 1 },
    { red: "x" },
  ],
  "dict with a key pattern": [
    { patternProperties: { "^k": { type: "integer" } }, type: "object", additionalProperties: false },
    { k1: 1 },
    { k1: "x" },
  ],
  "dict with overlapping key patterns": [
    { patternProperties: { "^a": { type: "integer" }, b$: { type: "string" } }, type: "object" },
    { a: 1, b: "x" },
    { a: true },
  ],
  "dict with a minimum": [
    { type: "object", additionalProperties: { type: "integer" }, minProperties: 1 },
    { a: 1 },
  ],
  "tuple[int, str]": [
    { maxItems: 2, minItems: 2, prefixItems: [{ type: "integer" }, { type: "string" }], type: "array" },
    [1, "a"],
    ["a", 1],
  ],
  "Literal['a']": [{ const: "a", type: "string" }, "a", "b"],
  "Literal['a', 'b']": [{ enum: ["a", "b"], type: "string" }, "b", "c"],
  Enum: [{ $ref: "#/$defs/Color" }, "red", "blue"],
  "nested model": [{ $ref: "#/$defs/Address" }, home, { street: "Main" }],
  "nested model with a description": [{ $ref: "#/$defs/Address", description: "Where" }, home, {}],
  "nested model in allOf": [{ allOf: [{ $ref: "#/$defs/Address" }], default: {} }, home, {}],
  "optional nested model": [{ anyOf: [{ $ref: "#/$defs/Address" }, { type: "null" }] }, home, {}],
  "list of models": [{ items: { $ref: "#/$defs/Address" }, type: "array" }, [home], [{}]],
  "discriminated union": [
    {
      discriminator: { mapping: { cat: "#/$defs/Cat", dog: "#/$defs/Dog" }, propertyName: "kind" },
      oneOf: [{ $ref: "#/$defs/Cat" }, { $ref: "#/$defs/Dog" }],
    },
    { kind: "dog", barks: true },
    { kind: "dog", lives: 9 },
  ],
  "oneOf that overlaps": [{ oneOf: [{ type: "integer" }, { type: "number" }] }, 1.5, "x"],
  "conint(multiple_of=5)": [{ multipleOf: 5, type: "integer" }, 10, 11],
  "condecimal(multiple_of=0.25)": [{ multipleOf: 0.25, type: "number" }, 0.75, "x"],
  "conint(gt, le)": [{ exclusiveMinimum: 0, maximum: 10, type: "integer" }, 10, 0],
  Decimal: [
    { anyOf: [{ type: "number" }, { pattern: "^(?!^[-+.]*$)[+-]?0*\\d*\\.?\\d*$", type: "string" }] },
    "1.5",
    true,
  ],
  datetime: [{ format: "date-time", type: "string" }, "2026-02-28T12:30:00Z", "x"],
  date: [{ format: "date", type: "string" }, "2026-02-28", "x"],
  time: [{ format: "time", type: "string" }, "12:30:00Z", "x"],
  timedelta: [{ format: "duration", type: "string" }, "P3D", "x"],
  UUID: [{ format: "uuid", type: "string" }, "8b5afc3c-0bcb-4983-9f3e-282796d2bd40", "x"],
  Path: [{ format: "path", type: "string" }, "/a", 1],
  bytes: [{ format: "binary", type: "string" }, "a", 1],
  SecretStr: [{ format: "password", type: "string", writeOnly: true }, "a", 1],
  AnyUrl: [{ format: "uri", minLength: 1, type: "string" }, "https://example.com", 1],
  EmailStr: [{ format: "email", type: "string" }, "a@example.com", "x"],
  IPvAnyAddress: [{ format: "ipvanyaddress", type: "string" }, "::1", 1],
  "re.Pattern": [{ format: "regex", type: "string" }, "^a$", 1],
  Json: [{ contentMediaType: "application/json", contentSchema: {}, type: "string" }, "{}", 1],
  Any: [{ title: "Any" }, { a: 1 }],
  "a type that is not x": [{ type: "string", not: { const: "x" } }, "y", 1],
  "if and else": [{ type: "integer", if: { minimum: 5 }, else: { multipleOf: 2 } }, 6, "x"],
  "list that contains": [{ type: "array", items: { type: "integer" }, contains: { const: 1 } }, [1], ["x"]],
  "dependent fields": [
    {
      type: "object",
      properties: { a: { type: "integer" }, b: { type: "integer" } },
      dependentRequired: { a: ["b"] },
    },
    { a: 1, b: 2 },
    { a: "x" },
  ],
  "a reference to elsewhere": [{ $ref: "https://example.com/schema.json" }, 1],
};

/** The same in the form that strict mode requires. */
const strictNames = new Set([
  "Optional[int]",
  "int | str",
  "Literal['a']",
  "Literal['a', 'b']",
  "Enum",
  "nested model",
  "list of models",

  "optional nested model",
  "conint(multiple_of=5)",
  "conint(gt, le)",
  "datetime",
  "date",
  "UUID",
  "EmailStr",
]);

const definitions = {
  Address: address,
  Color: { enum: ["red", "green"], title: "Color", type: "string" },
  Cat: {
    properties: { kind: { const: "cat" }, lives: { type: "integer" } },
    required: ["kind", "lives"],
    type: "object",
  },
  Dog: {
    properties: { kind: { const: "dog" }, barks: { type: "boolean" } },
    required: ["kind", "barks"],
    type: "object",
  },
};

export function pydanticSchemas(): readonly LibrarySchema[] {
  return Object.entries(fields).map(([name, [field, valid, invalid]]): LibrarySchema => {
    const isStrictForm = strictNames.has(name);
    const closed = { ...address, additionalProperties: false };
    return {
      name: `pydantic ${name}`,
      schema: {
        $defs: isStrictForm ? { Color: definitions.Color, Address: closed } : definitions,
        properties: { value: field },
        required: ["value"],
        title: "Model",
        type: "object",
        ...(isStrictForm ? { additionalProperties: false } : {}),
      },
      valid: { value: valid },
      ...(invalid === undefined ? {} : { invalid: { value: invalid } }),
      isStrictForm,
    };
  });
}
