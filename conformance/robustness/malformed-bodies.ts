import { type RowWithBody, validBodyOf } from "./valid-bodies.ts";

type Step = string | number;
type FieldPath = readonly Step[];

/** The keywords of a JSON Schema that define where values can occur. */
type SchemaNode = {
  readonly properties?: Readonly<Record<string, SchemaNode>>;
  readonly items?: SchemaNode;
  readonly anyOf?: readonly SchemaNode[];
};

const depth = 900;
const deepList = `${"[".repeat(depth)}${"]".repeat(depth)}`;

/** As JSON text, because some of them would not survive a parser. */
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
  const paths = [...fieldPathsOf(row.bodySchema, [])];
  for (const path of paths) {
    for (const value of wrongValues) yield writeAt(validBodyOf(row), path, value);
  }
}

/** Texts that are not JSON, or that a careless parser would mishandle. */
export function* brokenBodies(row: RowWithBody): Generator<Buffer> {
  const valid = JSON.stringify(validBodyOf(row));
  for (let length = 1; length < valid.length; length += 1) yield Buffer.from(valid.slice(0, length));
  for (let index = 0; index < valid.length; index += 3) {
    const bytes = Buffer.from(valid);
    bytes[index] = 0xff;
    yield bytes;
  }
  yield* unusualTexts(valid).map((text) => Buffer.from(text));
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

function unusualTexts(valid: string): readonly string[] {
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

function* fieldPathsOf(schema: SchemaNode, path: FieldPath): Generator<FieldPath> {
  yield path;
  for (const [name, inner] of Object.entries(schema.properties ?? {}))
    yield* fieldPathsOf(inner, [...path, name]);
  if (schema.items !== undefined) yield* fieldPathsOf(schema.items, [...path, 0]);
  for (const branch of schema.anyOf ?? []) {
    for (const found of fieldPathsOf(branch, path)) if (found.length > path.length) yield found;
  }
}

const placeholder = "placeholder-of-a-wrong-value";

function writeAt(body: object, path: FieldPath, value: string): string {
  return JSON.stringify(withPlaceholder(body, path)).replace(`"${placeholder}"`, () => value);
}

function withPlaceholder(value: unknown, [step, ...rest]: FieldPath): unknown {
  if (step === undefined) return placeholder;
  if (typeof step === "number") return [withPlaceholder(Array.isArray(value) ? value[0] : undefined, rest)];
  // Anything but an object is replaced by one, so that the path exists.
  const fields = (typeof value === "object" && value !== null ? value : {}) as Record<string, unknown>;
  return { ...fields, [step]: withPlaceholder(fields[step], rest) };
}
