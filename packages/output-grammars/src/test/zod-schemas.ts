import { scale } from "@hearth-and-keep/figures";
import { z } from "zod";

/** A schema with a document that is valid and, if its grammar enforces anything, one that is not. */
export type LibrarySchema = {
  readonly name: string;
  readonly schema: unknown;
  readonly valid: unknown;
  readonly invalid?: unknown;
  /** Whether OpenAI's strict mode accepts the schema: every field is required and there are no others. */
  readonly isStrictForm?: boolean;
};

type Sample = readonly [type: z.ZodType, valid: unknown, invalid?: unknown];

const category = z.object({
  name: z.string(),
  get children() {
    return z.array(category);
  },
});
const list = z.object({
  value: z.number(),
  get next() {
    return list.nullable();
  },
});
const shape = z.discriminatedUnion("type", [
  z.object({ type: z.literal("circle"), radius: z.number().positive() }),
  z.object({ type: z.literal("square"), side: z.number() }),
]);
const person = z.object({ name: z.string(), age: z.int().min(0).max(150) });
const uuid = "8b5afc3c-0bcb-4983-9f3e-282796d2bd40";

/** One field each, so that the same type is also tried as a value of a required field. */
const values: Readonly<Record<string, Sample>> = {
  string: [z.string(), "x", 1],
  "string bounds": [z.string().min(2).max(4), "abc", "abcde"],
  "string length": [z.string().length(3), "abc", "ab"],
  nonempty: [z.string().nonempty(), "a", ""],
  regex: [z.string().regex(/^[a-z]+$/u), "abc", "ABC"],
  "regex with lookahead": [z.string().regex(/^(?=.*\d)[a-z\d]+$/u), "a1", 1],
  "two regexes": [z.string().regex(/^a/u).regex(/z$/u), "az", "ab"],
  "starts with": [z.string().startsWith("ab"), "abc", "xab"],
  "ends with": [z.string().endsWith("yz"), "xyz", "yzx"],
  includes: [z.string().includes("mid"), "amidst", "other"],
  lowercase: [z.string().lowercase(), "abc", "ABC"],
  uppercase: [z.string().uppercase(), "ABC", "abc"],
  email: [z.email(), "a@example.com", "example"],
  uuid: [z.uuid(), uuid, "8b5afc3c"],
  "uuid of version 4": [z.uuidv4(), uuid, "8b5afc3c"],
  guid: [z.guid(), uuid, "8b5afc3c"],
  url: [z.url(), "https://example.com/a", "example"],
  hostname: [z.hostname(), "example.com", "a b"],
  ipv4: [z.ipv4(), "127.0.0.1", "300.0.0.1"],
  ipv6: [z.ipv6(), "::1", "127.0.0.1"],
  cidrv4: [z.cidrv4(), "10.0.0.0/8", "10.0.0.0"],
  base64: [z.base64(), "aGVsbG8=", "a!"],
  base64url: [z.base64url(), "aGVsbG8", "a+/"],
  nanoid: [z.nanoid(), "V1StGXR8_Z5jdHi6B-myT", "short"],
  cuid2: [z.cuid2(), "tz4a98xxat96iws9zmbrgj3a", "A!"],
  ulid: [z.ulid(), "01ARZ3NDEKTSV4RRFFQ69G5FAV", "01ARZ3"],
  jwt: [z.jwt(), "a.b.c", 1],
  e164: [z.e164(), "+14155552671", "4155552671"],
  emoji: [z.emoji(), "😀", 1],
  hex: [z.hex(), "ff00", "xyz"],
  "iso date": [z.iso.date(), "2026-02-28", "2026-02-30"],
  "iso time": [z.iso.time(), "12:30:00", "25:00:00"],
  "iso datetime": [z.iso.datetime(), "2026-02-28T12:30:00Z", "2026-02-28"],
  "iso datetime with offset": [z.iso.datetime({ offset: true }), "2026-02-28T12:30:00+02:00", "2026"],
  "iso duration": [z.iso.duration(), "P3DT4H", "3 days"],
  "template literal": [z.templateLiteral(["id-", z.number()]), "id-12", "12"],
  "template literal of an enum": [z.templateLiteral([z.enum(["a", "b"]), "-", z.string()]), "a-x", "c-x"],
  number: [z.number(), 1.5, "1"],
  "number bounds": [z.number().gte(0).lt(1), 0.5, 1],
  int: [z.int(), 7, 7.5],
  int32: [z.int32(), -5, 3_000_000_000],
  uint32: [z.uint32(), 5, -5],
  float32: [z.float32(), 1.5, "x"],
  "multiple of an integer": [z.number().multipleOf(5), 15, 16],
  "multiple of a cent": [z.number().multipleOf(0.01), 1.25, 1.255],
  "multiple of an odd fraction": [z.number().multipleOf(0.3), 0.6, "x"],
  boolean: [z.boolean(), true, "true"],
  null: [z.null(), null, 0],
  nullable: [z.string().nullable(), null, 1],
  nullish: [z.string().nullish(), null, 1],
  literal: [z.literal("a"), "a", "b"],
  literals: [z.literal(["a", 1, null]), 1, 2],
  enum: [z.enum(["red", "green"]), "red", "blue"],
  "native enum": [z.enum({ Low: 1, High: 2 }), 2, 3],
  any: [z.any(), { a: [1] }],
  unknown: [z.unknown(), "x"],
  array: [z.array(z.string()), ["a"], [1]],
  "array bounds": [z.array(z.number()).min(1).max(2), [1, 2], []],
  "nested array": [z.array(z.array(z.int())), [[1], []], [["a"]]],
  set: [z.array(z.string()).meta({ uniqueItems: true }), ["a", "b"], [1]],
  tuple: [z.tuple([z.string(), z.number()]), ["a", 1], [1, "a"]],
  "tuple with rest": [z.tuple([z.string()], z.number()), ["a", 1, 2], ["a", "b"]],
  record: [z.record(z.string(), z.number()), { a: 1, b: 2 }, { a: "x" }],
  "record of objects": [z.record(z.string(), person), { a: { name: "A", age: 3 } }, { a: {} }],
  "record by enum": [z.record(z.enum(["a", "b"]), z.number()), { a: 1, b: 2 }, { c: 1 }],
  "partial record": [z.partialRecord(z.enum(["a", "b"]), z.number()), { b: 2 }, { c: 1 }],
  "record by pattern": [z.record(z.string().regex(/^k\d+$/u), z.number()), { k1: 1 }, { k1: "x" }],
  "record by uuid": [z.record(z.uuid(), z.boolean()), { [uuid]: true }, { [uuid]: 1 }],
  union: [z.union([z.string(), z.int()]), 3, true],
  "union of objects": [z.union([z.object({ a: z.int() }), z.object({ b: z.int() })]), { b: 1 }, { c: 1 }],
  "union with never": [z.union([z.string(), z.never()]), "a", 1],
  "discriminated union": [shape, { type: "circle", radius: 2 }, { type: "circle", side: 2 }],
  "list of a discriminated union": [z.array(shape), [{ type: "square", side: 1 }], [{ type: "line" }]],
  intersection: [
    z.intersection(z.object({ a: z.int() }), z.object({ b: z.int() })),
    { a: 1, b: 2 },
    { a: 1 },
  ],
  object: [person, { name: "A", age: 3 }, { name: "A", age: -1 }],
  "nested object": [z.object({ person }), { person: { name: "A", age: 3 } }, { person: {} }],
  "empty object": [z.object({}), {}, 1],
  "strict object": [z.strictObject({ a: z.int() }), { a: 1 }, { a: 1, b: 2 }],
  "loose object": [z.looseObject({ a: z.int() }), { a: 1, b: "x" }, { b: 1 }],
  catchall: [z.object({ a: z.int() }).catchall(z.string()), { a: 1, b: "x" }, { a: 1, b: 2 }],
  partial: [person.partial(), { age: 3 }, { age: "x" }],
  "extended object": [
    person.extend({ email: z.email() }),
    { name: "A", age: 3, email: "a@b.co" },
    { name: "A" },
  ],
  "picked object": [person.pick({ name: true }), { name: "A" }, { age: 3 }],
  "optional never": [z.object({ a: z.int(), b: z.never().optional() }), { a: 1 }, { a: 1, b: 2 }],
  default: [z.string().default("x"), "y", 1],
  prefault: [z.string().prefault("x"), "y", 1],
  catch: [z.int().catch(0), 3, "x"],
  readonly: [z.array(z.int()).readonly(), [1], ["x"]],
  branded: [z.string().brand<"Id">(), "x", 1],
  described: [z.string().describe("A name"), "x", 1],
  "with metadata": [z.string().meta({ title: "Name", examples: ["x"] }), "x", 1],
  lazy: [z.lazy(() => z.array(z.int())), [1], ["x"]],
  recursive: [category, { name: "a", children: [{ name: "b", children: [] }] }, { name: "a", children: [1] }],
  "recursive through null": [list, { value: 1, next: { value: 2, next: null } }, { value: 1, next: 1 }],
  json: [z.json(), { a: [1, null] }],
  pipe: [z.string().pipe(z.string().min(1)), "a", ""],
  stringbool: [z.enum(["true", "false"]), "true", "yes"],
};

/** Types whose schema is in strict form, by name. */
const strictForms = new Set([
  "string",
  "regex",
  "email",
  "uuid",
  "hostname",
  "ipv4",
  "iso date",
  "iso duration",
  "number",
  "int",

  "number bounds",
  "multiple of an integer",
  "multiple of a cent",
  "boolean",
  "nullable",
  "literal",
  "enum",
  "array",
  "array bounds",
  "nested array",
  "union",
  "object",
  "nested object",
  "recursive",
  "recursive through null",
  "picked object",
  "extended object",
  "described",
]);

/** Each type in a list. */
const lists: Readonly<Record<string, Sample>> = Object.fromEntries(
  Object.entries(values).map(([name, [type, valid, invalid]]) => [
    `list of ${name}`,
    [z.array(type), [valid, valid], invalid === undefined ? undefined : [invalid]],
  ]),
);

/** Each type as a field of an object; beyond CI also in a list, in draft 7, and as the input of its schema. */
export function zodSchemas(): readonly LibrarySchema[] {
  const variants = scale === "ci" ? [{}] : [{}, { target: "draft-7" } as const, { io: "input" } as const];
  const samples = Object.entries(scale === "ci" ? values : { ...values, ...lists });
  const all = samples.flatMap(([name, [type, valid, invalid]]) =>
    variants.map(
      (variant, index): LibrarySchema => ({
        name: `zod ${name} ${JSON.stringify(variant)}`,
        schema: z.toJSONSchema(z.object({ value: type }), variant),
        valid: { value: valid },
        ...(invalid === undefined ? {} : { invalid: { value: invalid } }),
        isStrictForm: index === 0 && strictForms.has(name),
      }),
    ),
  );
  return [...new Map(all.toReversed().map((each) => [JSON.stringify(each.schema), each])).values()];
}
