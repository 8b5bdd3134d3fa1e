import { collectUntil, peek, peekLiteral, skipWhitespace } from "../stream-parser/read-text.ts";
import type { ParserSteps, Scanner } from "../stream-parser/scanner.ts";
import type { CallWriter } from "./call-writer.ts";
import { fence, takeFence, takeFenceEnd } from "./code-fences.ts";
import { type JsonShape, type Outcome, readJsonCalls } from "./json-calls.ts";

/** The form of a call with a header that has the name, followed by the arguments as a JSON object. */
export type NamedShape = {
  /** Markers that end the header; an opening brace belongs to the arguments. */
  readonly headerEnds: readonly string[];
  readonly readHeader: (header: string) => Header | undefined;
};

export type Header = { readonly name: string; readonly id?: string };

export function* readNamedJson(
  scanner: Scanner,
  shape: NamedShape,
  writer: CallWriter,
): ParserSteps<Outcome> {
  const { text, marker } = yield* collectUntil(scanner, shape.headerEnds);
  if (marker === undefined) return "unfinished";
  if (marker !== "{") scanner.take(marker.length);
  const header = shape.readHeader(text);
  if (header === undefined || header.name === "") return "other";
  const hasFence = marker.startsWith(fence) || (yield* takeFence(scanner));
  yield* skipWhitespace(scanner);
  const next = yield* peek(scanner);
  const isMissing = next === "" ? scanner.endedBy === "stop" : yield* startsWithMarker(scanner, writer);
  if (next !== "{" && !isMissing) return next === "" ? "unfinished" : "other";
  writer.start(header.name, header.id);
  if (!isMissing && !(yield* writer.readArguments(scanner, true))) return "unfinished";
  writer.end();
  if (hasFence) yield* takeFenceEnd(scanner);
  return "complete";
}

function* startsWithMarker(scanner: Scanner, { endMarkers }: CallWriter): ParserSteps<boolean> {
  return (yield* peekLiteral(scanner, endMarkers)) !== undefined;
}

const deepseekSeparator = "<｜tool▁sep｜>";

/** `function<sep>name`, a code fence and the arguments; in newer models `name<sep>` and the arguments. */
export function* readDeepseekCall(scanner: Scanner, writer: CallWriter): ParserSteps<Outcome> {
  const shape = { headerEnds: ["{", "```json", fence], readHeader: readDeepseekHeader };
  return yield* readNamedJson(scanner, shape, writer);
}

function readDeepseekHeader(header: string): Header | undefined {
  if (!header.includes(deepseekSeparator)) return undefined;
  const [before = "", after = ""] = header.split(deepseekSeparator).map((part) => part.trim());
  return { name: after === "" ? before : after };
}

/** A JSON list in older models; `name[CALL_ID]id[ARGS]{…}` in newer ones, with optional id and [ARGS]. */
export function* readMistralCalls(
  scanner: Scanner,
  writer: CallWriter,
  listShape: JsonShape,
): ParserSteps<Outcome> {
  yield* skipWhitespace(scanner);
  if ((yield* peek(scanner)) === "[") return yield* readJsonCalls(scanner, { writer, shape: listShape });
  const shape = { headerEnds: ["[ARGS]", "{"], readHeader: readMistralHeader };
  return yield* readNamedJson(scanner, shape, writer);
}

function readMistralHeader(header: string): Header {
  const [name = "", id] = header.split("[CALL_ID]").map((part) => part.trim());
  return id === undefined ? { name } : { name, id };
}

/** The header is the id, e.g. `functions.get_weather:0`. */
export function readKimiHeader(header: string): Header | undefined {
  const id = header.trim();
  const name = /^(?:functions\.)?(?<name>.+?)(?::\d+)?$/u.exec(id)?.groups?.["name"];
  return name === undefined ? undefined : { name, id };
}

export function readSolarHeader(header: string): Header | undefined {
  const [id = "", name = ""] = header.split("<|tool_call:name|>");
  return { name: name.trim(), id: id.trim() };
}

/**
 * `recipient`, a line break and its content; `all` means visible text. Constrained output has no header, so an unknown
 * recipient is ordinary text.
 */
export function* readRecipient(scanner: Scanner, writer: CallWriter): ParserSteps<Outcome> {
  const { text, marker } = yield* collectUntil(scanner, ["\n"]);
  const recipient = text.trim();
  if (recipient === "all") return "complete";
  const isTruncated = marker === undefined && scanner.endedBy === "length";
  if (isTruncated) return "unfinished";
  scanner.rewind();
  scanner.startRecording();
  if (!writer.hasTool(recipient)) return "complete";
  return yield* readNamedJson(scanner, { headerEnds: ["\n"], readHeader: readBareHeader }, writer);
}

export function readBareHeader(header: string): Header {
  return { name: header.trim() };
}
