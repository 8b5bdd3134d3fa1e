import { collectUntil, peek, peekBehindSpace, skipSpace, takeLiteral } from "../splitting/read-text.ts";
import type { Scanner, Steps } from "../splitting/scanner.ts";
import type { CallWriter } from "./call-writer.ts";
import { type JsonShape, type Outcome, readJsonCalls } from "./json-calls.ts";
import { readJsonText } from "./json-text.ts";

/** How a family writes a call as a heading with the name, then the arguments as a JSON object. */
export type NamedShape = {
  /** What ends the heading; an opening brace is left to the arguments. */
  readonly headingEnds: readonly string[];
  readonly readHeading: (heading: string) => Heading | undefined;
};

export type Heading = { readonly name: string; readonly id?: string };

export function* readNamedJson(scanner: Scanner, shape: NamedShape, writer: CallWriter): Steps<Outcome> {
  const { text, marker } = yield* collectUntil(scanner, shape.headingEnds);
  if (marker === undefined) return "unfinished";
  if (marker !== "{") scanner.take(marker.length);
  const heading = shape.readHeading(text);
  if (heading === undefined || heading.name === "") return "other";
  yield* skipSpace(scanner);
  const next = yield* peek(scanner);
  if (next !== "{") return next === "" ? "unfinished" : "other";
  writer.start(heading.name, heading.id);
  if (!(yield* readJsonText(scanner, (part) => writer.write(part)))) return "unfinished";
  writer.end();
  return "whole";
}

const deepseekSeparator = "<｜tool▁sep｜>";

/** `function<sep>name`, a fence and the arguments, or newer `name<sep>` and the arguments. */
export function* readDeepseekCall(scanner: Scanner, writer: CallWriter): Steps<Outcome> {
  const shape = { headingEnds: ["{", "```json"], readHeading: readDeepseekHeading };
  const outcome = yield* readNamedJson(scanner, shape, writer);
  if (outcome !== "whole") return outcome;
  if ((yield* peekBehindSpace(scanner)) === "`") {
    yield* skipSpace(scanner);
    yield* takeLiteral(scanner, "```");
  }
  return "whole";
}

function readDeepseekHeading(heading: string): Heading | undefined {
  if (!heading.includes(deepseekSeparator)) return undefined;
  const [before = "", after = ""] = heading.split(deepseekSeparator).map((part) => part.trim());
  return { name: after === "" ? before : after };
}

/** A JSON list in the older models; `name[CALL_ID]id[ARGS]{…}` in the newer, where id and [ARGS] may be absent. */
export function* readMistralCalls(
  scanner: Scanner,
  writer: CallWriter,
  listShape: JsonShape,
): Steps<Outcome> {
  yield* skipSpace(scanner);
  if ((yield* peek(scanner)) === "[") return yield* readJsonCalls(scanner, { writer, shape: listShape });
  const shape = { headingEnds: ["[ARGS]", "{"], readHeading: readMistralHeading };
  return yield* readNamedJson(scanner, shape, writer);
}

function readMistralHeading(heading: string): Heading {
  const [name = "", id] = heading.split("[CALL_ID]").map((part) => part.trim());
  return id === undefined ? { name } : { name, id };
}

/** The heading is the id, as in `functions.get_weather:0`. */
export function readKimiHeading(heading: string): Heading | undefined {
  const id = heading.trim();
  const name = /^(?:functions\.)?(?<name>.+?)(?::\d+)?$/u.exec(id)?.groups?.["name"];
  return name === undefined ? undefined : { name, id };
}

export function readSolarHeading(heading: string): Heading | undefined {
  const [id = "", name = ""] = heading.split("<|tool_call:name|>");
  return { name: name.trim(), id: id.trim() };
}

/**
 * `recipient`, a new line, and what is for it: `all` means visible text. A recipient that is no tool was no
 * heading, because a constrained answer comes without one; it is given back as text.
 */
export function* readRecipient(scanner: Scanner, writer: CallWriter): Steps<Outcome> {
  const { text, marker } = yield* collectUntil(scanner, ["\n"]);
  const recipient = text.trim();
  if (recipient === "all") return "whole";
  const isCut = marker === undefined && scanner.endedBy === "length";
  if (isCut) return "unfinished";
  scanner.rewind();
  scanner.remember();
  if (!writer.isKnown(recipient)) return "whole";
  return yield* readNamedJson(scanner, { headingEnds: ["\n"], readHeading: readBareHeading }, writer);
}

export function readBareHeading(heading: string): Heading {
  return { name: heading.trim() };
}
