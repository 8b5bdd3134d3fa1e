import { peek, peekBehindSpace, skipSpace } from "../splitting/read-text.ts";
import type { Scanner, Steps } from "../splitting/scanner.ts";
import { type CallWriter, parseJson } from "./call-writer.ts";
import { collectJson, readJsonText, takeSign } from "./json-text.ts";

/** How a family writes a call as a JSON object. */
export type JsonShape = {
  readonly nameKeys: readonly string[];
  readonly argumentKeys: readonly string[];
  /** Keys whose value identifies the call; numbers that merely count are not listed. */
  readonly idKeys: readonly string[];
  /** Keys under which the call, or a list of calls, is wrapped. */
  readonly wrappers: readonly string[];
  /** The id stands behind the arguments, so the whole object is awaited before the call is told. */
  readonly idComesLast?: boolean;
  /** The object has one key, the name, and its value is the arguments. */
  readonly nameIsKey?: boolean;
  /** The name must be a tool's and come first, because nothing else marks the object as a call. */
  readonly isUnmarked?: boolean;
};

export type CallParts = { readonly writer: CallWriter; readonly shape: JsonShape };

/** `other`: it is no call, and nothing was emitted for it. */
export type Outcome = "whole" | "unfinished" | "other";

/** Reads one call, or a list of them, or several one after another. */
export function* readJsonCalls(scanner: Scanner, parts: CallParts): Steps<Outcome> {
  if ((yield* takeSign(scanner, "[")) !== undefined) return yield* readList(scanner, parts);
  const first = yield* readCall(scanner, parts);
  if (first !== "whole" || parts.shape.isUnmarked === true) return first;
  while ((yield* peekBehindSpace(scanner)) === "{") {
    const next = yield* readCall(scanner, parts);
    if (next !== "whole") return next;
  }
  return "whole";
}

function* readList(scanner: Scanner, parts: CallParts): Steps<Outcome> {
  // An empty list calls nothing; unmarked it is a text like any other.
  const isEmpty = (yield* takeSign(scanner, "]")) !== undefined;
  if (isEmpty) return parts.shape.isUnmarked === true ? "other" : "whole";
  for (;;) {
    const outcome = yield* readCall(scanner, parts);
    if (outcome !== "whole") return outcome;
    const sign = yield* takeSign(scanner, ",]");
    if (sign === "]") return "whole";
    if (sign === undefined) return stopped(scanner);
  }
}

type HeldCall = {
  name: string | undefined;
  id: string | undefined;
  argumentsText: string | undefined;
  isTold: boolean;
  /** A wrapped list told its calls itself. */
  isList: boolean;
};

function* readCall(scanner: Scanner, parts: CallParts): Steps<Outcome> {
  const held: HeldCall = {
    name: undefined,
    id: undefined,
    argumentsText: undefined,
    isTold: false,
    isList: false,
  };
  const outcome = yield* readFields(scanner, parts, held);
  if (outcome !== "whole" || held.isList) return outcome;
  if (held.name === undefined) return "other";
  if (!held.isTold) {
    parts.writer.start(held.name, held.id);
    // A call without arguments has none: an empty object is what the tool is to be called with.
    parts.writer.write(held.argumentsText ?? "{}");
  }
  parts.writer.end();
  return "whole";
}

function* readFields(scanner: Scanner, parts: CallParts, held: HeldCall): Steps<Outcome> {
  if ((yield* takeSign(scanner, "{")) === undefined) return stopped(scanner);
  if ((yield* takeSign(scanner, "}")) !== undefined) return "whole";
  for (;;) {
    yield* skipSpace(scanner);
    if ((yield* peek(scanner)) !== '"') return stopped(scanner);
    const key = yield* collectJson(scanner);
    if (!key.isWhole) return "unfinished";
    if ((yield* takeSign(scanner, ":")) === undefined) return stopped(scanner);
    yield* skipSpace(scanner);
    const outcome = yield* readField(scanner, parts, { key: String(parseJson(key.text)), held });
    if (outcome !== "whole") return outcome;
    const sign = yield* takeSign(scanner, ",}");
    if (sign === "}") return "whole";
    if (sign === undefined) return stopped(scanner);
  }
}

type Field = { readonly key: string; readonly held: HeldCall };

function* readField(scanner: Scanner, parts: CallParts, { key, held }: Field): Steps<Outcome> {
  const { shape } = parts;
  const next = yield* peek(scanner);
  if (shape.nameIsKey === true) {
    held.name = key;
    return yield* readArguments(scanner, parts, held);
  }
  if (shape.wrappers.includes(key) && next === "{") return yield* readFields(scanner, parts, held);
  if (shape.wrappers.includes(key) && next === "[") {
    scanner.take(1);
    held.isList = true;
    return yield* readList(scanner, parts);
  }
  if (shape.argumentKeys.includes(key)) return yield* readArguments(scanner, parts, held);
  const value = yield* collectJson(scanner);
  if (!value.isWhole) return "unfinished";
  const parsed = parseJson(value.text);
  if (shape.nameKeys.includes(key) && typeof parsed === "string") held.name = parsed;
  if (shape.idKeys.includes(key) && typeof parsed === "string") held.id = parsed;
  const isStranger =
    held.name === undefined ? key !== "type" && key !== "id" : !parts.writer.isKnown(held.name);
  return shape.isUnmarked === true && isStranger ? "other" : "whole";
}

function* readArguments(scanner: Scanner, parts: CallParts, held: HeldCall): Steps<Outcome> {
  const isObject = (yield* peek(scanner)) === "{";
  const { writer, shape } = parts;
  if (shape.isUnmarked === true && (held.name === undefined || !writer.isKnown(held.name))) return "other";
  if (isObject && held.name !== undefined && shape.idComesLast !== true) {
    writer.start(held.name, held.id);
    held.isTold = true;
    return (yield* readJsonText(scanner, (text) => writer.write(text))) ? "whole" : "unfinished";
  }
  const { text, isWhole } = yield* collectJson(scanner);
  if (!isWhole) return "unfinished";
  // Some models write the arguments as a string that holds JSON.
  const parsed = parseJson(text);
  held.argumentsText = typeof parsed === "string" ? parsed : text;
  return "whole";
}

/** Something else than expected came next: the end of the text, or no call. */
function stopped(scanner: Scanner): Outcome {
  return scanner.unread === "" && scanner.endedBy !== undefined ? "unfinished" : "other";
}
