import { type RowWithBody, validBodyOf } from "./valid-bodies.ts";

type Step = string | number;
type Place = readonly Step[];

/** What of a JSON Schema says where values can stand. */
type SchemaNode = {
  readonly properties?: Readonly<Record<string, SchemaNode>>;
  readonly items?: SchemaNode;
  readonly anyOf?: readonly SchemaNode[];
};

const depth = 900;
const deepList = `${"[".repeat(depth)}${"]".repeat(depth)}`;

/** As JSON text, because some of them survive no parser. */
const wrongValues: readonly string[] = [
  "null",
  "true",
  "-1",
  "0.5",
  "1e308",
  "1e999",
  "-9007199254740993",
  '""',
  '"\\ud800"',
  '"\\u0000"',
  '"data:image/png;base64,"',
  "[]",
  "[null]",
  "{}",
  '{"type":"nothing"}',
  '{"constructor":{"prototype":{}}}',
  deepList,
];

/** Every field of the row's schema, each with every wrong value, in a body that is valid otherwise. */
export function* wrongBodies(row: RowWithBody): Generator<string> {
  const places = [...placesOf(row.bodySchema, [])];
  for (const place of places) {
    for (const value of wrongValues) yield writeAt(validBodyOf(row), place, value);
  }
}

/** Texts that are no JSON, or that a careless parser would stumble over. */
export function* brokenBodies(row: RowWithBody): Generator<Buffer> {
  const valid = JSON.stringify(validBodyOf(row));
  for (let length = 1; length < valid.length; length += 1) yield Buffer.from(valid.slice(0, length));
  for (let index = 0; index < valid.length; index += 3) {
    const bytes = Buffer.from(valid);
    bytes[index] = 0xff;
    yield bytes;
  }
  yield* strangeTexts(valid).map((text) => Buffer.from(text));
  yield Buffer.from(`\ufeff${valid}`, "utf16le");
  yield Buffer.from([0xc0, 0x80, 0xed, 0xa0, 0x80, 0xf8]);
}

const shortTexts = [
  ...'null [] "text" 0 NaN Infinity undefined {}{} {,} {"model":} {"model":"tiny",} <xml/>'.split(" "),
  "",
  " ",
  "// {}",
  "model=tiny&prompt=hello",
];

function strangeTexts(valid: string): readonly string[] {
  const inside = valid.slice(0, -1);
  return [
    ...shortTexts,
    `\ufeff${valid}`,
    `\u0000${valid}`,
    `${valid}\u0000`,
    `${valid}${valid}`,
    `${inside},"__proto__":{"isAdmin":true}}`,
    `${inside},"constructor":{"prototype":{"isAdmin":true}}}`,
    `${inside},"model":"another","model":7}`,
    `${inside},"options":{"num_ctx":${"9".repeat(1000)}}}`,
    `${inside},"seed":-${"9".repeat(400)}}`,
    "[".repeat(100_000),
    `${'{"a":'.repeat(20_000)}1${"}".repeat(20_000)}`,
    `${inside},"deep":${"[".repeat(5000)}${"]".repeat(5000)}}`,
    `${inside},${Array.from({ length: 2000 }, (_none, index) => `"field${index}":0`).join(",")}}`,
  ];
}

function* placesOf(schema: SchemaNode, place: Place): Generator<Place> {
  yield place;
  for (const [name, inner] of Object.entries(schema.properties ?? {}))
    yield* placesOf(inner, [...place, name]);
  if (schema.items !== undefined) yield* placesOf(schema.items, [...place, 0]);
  for (const branch of schema.anyOf ?? []) {
    for (const found of placesOf(branch, place)) if (found.length > place.length) yield found;
  }
}

const mark = "mark-of-a-wrong-value";

function writeAt(body: object, place: Place, value: string): string {
  return JSON.stringify(withMark(body, place)).replace(`"${mark}"`, () => value);
}

function withMark(value: unknown, [step, ...rest]: Place): unknown {
  if (step === undefined) return mark;
  if (typeof step === "number") return [withMark(Array.isArray(value) ? value[0] : undefined, rest)];
  // Anything else than an object is replaced by one, so that the place exists.
  const fields = (typeof value === "object" && value !== null ? value : {}) as Record<string, unknown>;
  return { ...fields, [step]: withMark(fields[step], rest) };
}
