/** A response as received. */
export type WireResponse = {
  readonly status: number;
  /** Null if there is none. */
  readonly contentType: string | null;
  readonly body: string;
};

/** A field with different values in two responses; `undefined` means missing. */
export type FieldDifference = {
  readonly path: string;
  readonly recorded: Leaf | undefined;
  readonly ours: Leaf | undefined;
};

export type Comparison = { readonly fields: number; readonly differences: readonly FieldDifference[] };

type Leaf = string | number | boolean | null;

/** Compares two responses field by field: status, content type, and every value in the body by its path. */
export function compareResponses(recorded: WireResponse, ours: WireResponse): Comparison {
  if (recorded.body.endsWith("…")) return compareTruncated(recorded, ours);
  const theirs = fieldsOf(recorded);
  const own = fieldsOf(ours);
  const paths = [...new Set([...theirs.keys(), ...own.keys()])];
  const differences = paths
    .map((path) => ({ path, recorded: theirs.get(path), ours: own.get(path) }))
    .filter((field) => field.recorded !== field.ours);
  return { fields: paths.length, differences };
}

/** Compares a truncated recording as text, except for its Modelfile, which is a field of its own. */
function compareTruncated(recorded: WireResponse, ours: WireResponse): Comparison {
  const theirs = extractModelfile(recorded.body.slice(0, -1));
  const own = extractModelfile(toGoJson(ours.body));
  const head = compareResponses({ ...recorded, body: "" }, { ...ours, body: "" });
  const fields: readonly FieldDifference[] = [
    { path: "body/modelfile", recorded: theirs.modelfile, ours: own.modelfile },
    { path: "body", recorded: theirs.rest, ours: own.rest.slice(0, theirs.rest.length) },
  ];
  const differences = [...head.differences, ...fields.filter((field) => field.recorded !== field.ours)];
  return { fields: head.fields + fields.length, differences };
}

function extractModelfile(body: string): { readonly modelfile: string; readonly rest: string } {
  const [modelfile = ""] = /"modelfile":"(?:[^"\\]|\\.)*",/u.exec(body) ?? [];
  // Tensors are in file order, which Ollama changes when it imports a file.
  const [rest = ""] = body.replace(modelfile, "").split(',"tensors":');
  return { modelfile, rest };
}

/** Go's encoder escapes HTML characters, which is equivalent. */
function toGoJson(body: string): string {
  return body.replaceAll(/[<>&]/gu, (character) => `\\u00${(character.codePointAt(0) ?? 0).toString(16)}`);
}

function fieldsOf({ status, contentType, body }: WireResponse): ReadonlyMap<string, Leaf> {
  const fields = new Map<string, Leaf>([
    ["status", status],
    ["content type", contentType],
  ]);
  addFields(fields, "body", readBody(contentType ?? "", body));
  return fields;
}

function readBody(contentType: string, body: string): unknown {
  if (body === "" || contentType.startsWith("text/plain")) return body;
  if (contentType.includes("ndjson")) return joinChunks(body.trim().split("\n").map(parse));
  if (contentType.includes("event-stream"))
    return nameEvents(joinChunks(body.trim().split("\n\n").map(readEvent)));
  return parse(body);
}

function readEvent(text: string): unknown {
  const event = /^event: (?<name>.*)$/mu.exec(text)?.groups?.["name"];
  const content = /^data: (?<content>.*)$/mu.exec(text)?.groups?.["content"] ?? "";
  return {
    ...(event === undefined ? {} : { event }),
    data: content.startsWith("{") ? parse(content) : content,
  };
}

/** The events of a stream by name, so that an additional or missing one does not shift the others. */
function nameEvents(events: readonly unknown[]): unknown {
  const named = new Map<string, unknown>();
  for (const [index, event] of events.entries()) {
    const name = isFields(event) && typeof event["event"] === "string" ? event["event"] : `chunk ${index}`;
    const count = [...named.keys()].filter((key) => key.replace(/#\d+$/u, "") === name).length;
    named.set(count === 0 ? name : `${name}#${count + 1}`, event);
  }
  return Object.fromEntries(named);
}

/** The paths of the output text in the streams of each API. */
const textPaths = [
  ["response"],
  ["message", "content"],
  ["data", "choices", "0", "delta", "content"],
  ["data", "delta", "text"],
  ["data", "delta"],
];

/** Chunk boundaries depend on timing, so consecutive chunks that differ only in their text are joined. */
function joinChunks(events: readonly unknown[]): readonly unknown[] {
  const joined: { rest: string; event: unknown }[] = [];
  for (const event of events) {
    const path = textPaths.find((candidate) => typeof follow(event, candidate) === "string");
    const rest = path === undefined ? "" : JSON.stringify(withText(event, path, ""), withoutVolatile);
    const before = joined.at(-1);
    if (path === undefined || before === undefined || before.rest !== rest) joined.push({ rest, event });
    else
      before.event = withText(
        before.event,
        path,
        String(follow(before.event, path)) + String(follow(event, path)),
      );
  }
  return joined.map(({ event }) => event);
}

function withoutVolatile(key: string, value: unknown): unknown {
  return key === "created_at" || key === "sequence_number" ? undefined : value;
}

function follow(value: unknown, path: readonly string[]): unknown {
  return path.reduce<unknown>((inner, key) => (isFields(inner) ? inner[key] : undefined), value);
}

function withText(value: unknown, [key = "", ...rest]: readonly string[], text: string): unknown {
  if (!isFields(value)) return value;
  const inner = rest.length === 0 ? text : withText(value[key], rest, text);
  return Array.isArray(value)
    ? value.map((each: unknown, index) => (String(index) === key ? inner : each))
    : { ...value, [key]: inner };
}

function isFields(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null;
}

function parse(text: string): unknown {
  return JSON.parse(text);
}

function addFields(fields: Map<string, Leaf>, path: string, value: unknown): void {
  if (typeof value !== "object" || value === null) {
    // JSON has no other values.
    fields.set(path, value as Leaf);
    return;
  }
  const entries = Object.entries(isTensorTable(value) ? byName(value) : value);
  if (entries.length === 0) fields.set(path, Array.isArray(value) ? "[]" : "{}");
  for (const [key, inner] of entries) addFields(fields, `${path}/${key}`, inner);
}

type Named = { readonly name: string };

/** Ollama rewrites imported files with their tensors in another order. */
function isTensorTable(value: unknown): value is readonly Named[] {
  return Array.isArray(value) && isFields(value[0]) && "name" in value[0] && "shape" in value[0];
}

function byName(tensors: readonly Named[]): Readonly<Record<string, Named>> {
  return Object.fromEntries(tensors.map((tensor) => [tensor.name, tensor]));
}
