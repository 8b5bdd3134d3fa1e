/** An answer as it went over the wire. */
export type WireAnswer = {
  readonly status: number;
  /** Null when there is none. */
  readonly contentType: string | null;
  readonly body: string;
};

/** One field of an answer that another answer has otherwise or not at all; `undefined` stands for "not there". */
export type FieldDifference = {
  readonly place: string;
  readonly recorded: Leaf | undefined;
  readonly ours: Leaf | undefined;
};

export type Comparison = { readonly fields: number; readonly differences: readonly FieldDifference[] };

type Leaf = string | number | boolean | null;

/** Compares two answers field by field: status, content type, and every value in the body, by its path. */
export function compareAnswers(recorded: WireAnswer, ours: WireAnswer): Comparison {
  if (recorded.body.endsWith("…")) return compareCut(recorded, ours);
  const theirs = fieldsOf(recorded);
  const mine = fieldsOf(ours);
  const places = [...new Set([...theirs.keys(), ...mine.keys()])];
  const differences = places
    .map((place) => ({ place, recorded: theirs.get(place), ours: mine.get(place) }))
    .filter((field) => field.recorded !== field.ours);
  return { fields: places.length, differences };
}

/** Of a recording that was cut, the text up to the cut is what there is; a Modelfile in it is a field by itself. */
function compareCut(recorded: WireAnswer, ours: WireAnswer): Comparison {
  const theirs = takeModelfile(recorded.body.slice(0, -1));
  const mine = takeModelfile(toGoJson(ours.body));
  const head = compareAnswers({ ...recorded, body: "" }, { ...ours, body: "" });
  const fields: readonly FieldDifference[] = [
    { place: "body/modelfile", recorded: theirs.modelfile, ours: mine.modelfile },
    { place: "body", recorded: theirs.rest, ours: mine.rest.slice(0, theirs.rest.length) },
  ];
  const differences = [...head.differences, ...fields.filter((field) => field.recorded !== field.ours)];
  return { fields: head.fields + fields.length, differences };
}

function takeModelfile(body: string): { readonly modelfile: string; readonly rest: string } {
  const [modelfile = ""] = /"modelfile":"(?:[^"\\]|\\.)*",/u.exec(body) ?? [];
  // Tensors are in the order of the file, which Ollama changes when it imports one.
  const [rest = ""] = body.replace(modelfile, "").split(',"tensors":');
  return { modelfile, rest };
}

/** Go's encoder escapes the signs of HTML, which means the same. */
function toGoJson(body: string): string {
  return body.replaceAll(/[<>&]/gu, (sign) => `\\u00${(sign.codePointAt(0) ?? 0).toString(16)}`);
}

function fieldsOf({ status, contentType, body }: WireAnswer): ReadonlyMap<string, Leaf> {
  const fields = new Map<string, Leaf>([
    ["status", status],
    ["content type", contentType],
  ]);
  addFields(fields, "body", readBody(contentType ?? "", body));
  return fields;
}

function readBody(contentType: string, body: string): unknown {
  if (body === "" || contentType.startsWith("text/plain")) return body;
  if (contentType.includes("ndjson")) return joinPieces(body.trim().split("\n").map(parse));
  if (contentType.includes("event-stream"))
    return nameEvents(joinPieces(body.trim().split("\n\n").map(readEvent)));
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

/** A stream's events by their names, so that one more or less does not move all others. */
function nameEvents(events: readonly unknown[]): unknown {
  const named = new Map<string, unknown>();
  for (const [index, event] of events.entries()) {
    const name = isFields(event) && typeof event["event"] === "string" ? event["event"] : `chunk ${index}`;
    const count = [...named.keys()].filter((key) => key.replace(/#\d+$/u, "") === name).length;
    named.set(count === 0 ? name : `${name}#${count + 1}`, event);
  }
  return Object.fromEntries(named);
}

/** Where the families put the next piece of an answer. */
const textPlaces = [
  ["response"],
  ["message", "content"],
  ["data", "choices", "0", "delta", "content"],
  ["data", "delta", "text"],
  ["data", "delta"],
];

/** How a text is cut into pieces hangs on how fast they come, so neighbours that differ by nothing else are joined. */
function joinPieces(events: readonly unknown[]): readonly unknown[] {
  const joined: { rest: string; event: unknown }[] = [];
  for (const event of events) {
    const place = textPlaces.find((path) => typeof follow(event, path) === "string");
    const rest = place === undefined ? "" : JSON.stringify(withText(event, place, ""), withoutMoving);
    const before = joined.at(-1);
    if (place === undefined || before === undefined || before.rest !== rest) joined.push({ rest, event });
    else
      before.event = withText(
        before.event,
        place,
        String(follow(before.event, place)) + String(follow(event, place)),
      );
  }
  return joined.map(({ event }) => event);
}

function withoutMoving(key: string, value: unknown): unknown {
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

function addFields(fields: Map<string, Leaf>, place: string, value: unknown): void {
  if (typeof value !== "object" || value === null) {
    // JSON has no other values.
    fields.set(place, value as Leaf);
    return;
  }
  const entries = Object.entries(isTensorTable(value) ? byName(value) : value);
  if (entries.length === 0) fields.set(place, Array.isArray(value) ? "[]" : "{}");
  for (const [key, inner] of entries) addFields(fields, `${place}/${key}`, inner);
}

type Named = { readonly name: string };

/** Ollama writes a file anew that it imports, with its tensors in another order. */
function isTensorTable(value: unknown): value is readonly Named[] {
  return Array.isArray(value) && isFields(value[0]) && "name" in value[0] && "shape" in value[0];
}

function byName(tensors: readonly Named[]): Readonly<Record<string, Named>> {
  return Object.fromEntries(tensors.map((tensor) => [tensor.name, tensor]));
}
