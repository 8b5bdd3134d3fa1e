import { parseBoundedJson } from "@hearth-and-keep/bounded-json";
import type { JsonObject, JsonValue } from "@hearth-and-keep/engine";
import { isJsonObject } from "@hearth-and-keep/engine";
import { peek, peekAfterWhitespace, skipWhitespace } from "../stream-parser/read-text.ts";
import type { ParserSteps, Scanner } from "../stream-parser/scanner.ts";
import type { CallWriter } from "./call-writer.ts";
import { takeFence, takeFenceEnd } from "./code-fences.ts";
import { collectJson, takeCharacter } from "./json-text.ts";
import { repairJson } from "./repair-json.ts";

/** The form of a call that is written as a JSON object. */
export type JsonShape = {
  readonly nameKeys: readonly string[];
  readonly argumentKeys: readonly string[];
  /** Keys of the call's id; counters do not count as ids. */
  readonly idKeys: readonly string[];
  /** Keys that wrap the call or a list of calls. */
  readonly wrappers: readonly string[];
  /** The id comes after the arguments, so the call is emitted only when the object is complete. */
  readonly idComesLast?: boolean;
  /** The only key of the object is the name, and its value is the arguments. */
  readonly nameIsKey?: boolean;
  /** No tag marks the object as a call, so a tool's name must come first. */
  readonly isUnmarked?: boolean;
};

export const jsonShape: JsonShape = {
  nameKeys: ["name", "tool_name"],
  argumentKeys: ["arguments", "parameters"],
  idKeys: ["id"],
  wrappers: ["function", "tool_call", "tool_calls"],
};

export type JsonCallContext = { readonly writer: CallWriter; readonly shape: JsonShape };

/** `other`: not a call, and nothing was emitted. */
export type Outcome = "complete" | "unfinished" | "other";

/** Reads one call, a list of calls, or several consecutive calls. */
export function* readJsonCalls(scanner: Scanner, context: JsonCallContext): ParserSteps<Outcome> {
  if ((yield* takeCharacter(scanner, "[")) !== undefined) return yield* readList(scanner, context);
  const first = yield* readCall(scanner, context);
  if (first !== "complete" || context.shape.isUnmarked === true) return first;
  while ((yield* peekAfterWhitespace(scanner)) === "{") {
    const next = yield* readCall(scanner, context);
    if (next !== "complete") return next;
  }
  return "complete";
}

function* readList(scanner: Scanner, context: JsonCallContext): ParserSteps<Outcome> {
  // An empty list has no calls; without a tag it is ordinary text.
  const isEmpty = (yield* takeCharacter(scanner, "]")) !== undefined;
  if (isEmpty) return context.shape.isUnmarked === true ? "other" : "complete";
  for (;;) {
    const hasFence = yield* takeFence(scanner);
    const outcome = yield* readCall(scanner, context);
    if (outcome !== "complete") return outcome;
    if (hasFence) yield* takeFenceEnd(scanner);
    const character = yield* takeCharacter(scanner, ",]");
    // A trailing comma.
    if (character === "," && (yield* takeCharacter(scanner, "]")) !== undefined) return "complete";
    if (character === "]") return "complete";
    if (character === undefined) return unexpectedInput(scanner);
  }
}

type PartialCall = {
  name: string | undefined;
  id: string | undefined;
  argumentsText: string | undefined;
  isEmitted: boolean;
  /** The call was a wrapped list, whose calls are emitted already. */
  isList: boolean;
};

function* readCall(scanner: Scanner, context: JsonCallContext): ParserSteps<Outcome> {
  const call: PartialCall = {
    name: undefined,
    id: undefined,
    argumentsText: undefined,
    isEmitted: false,
    isList: false,
  };
  const outcome = yield* readFields(scanner, context, call);
  const isCut = outcome === "unfinished" && scanner.endedBy === "stop";
  if ((outcome !== "complete" && !isCut) || call.isList || call.isEmitted)
    return endEmitted(outcome, context, call);
  if (call.name === undefined) return outcome === "complete" ? "other" : outcome;
  // Missing arguments mean an empty object.
  const json = toObjectText(call.argumentsText ?? "{}");
  if (json === undefined) return "other";
  context.writer.start(call.name, call.id);
  context.writer.writeArguments(json);
  context.writer.end();
  return "complete";
}

function endEmitted(outcome: Outcome, { writer }: JsonCallContext, call: PartialCall): Outcome {
  if (outcome === "complete" && call.isEmitted) writer.end();
  return outcome;
}

/** Some models write the arguments as a string of JSON, or null or an empty list if there are none. */
function toObjectText(text: string): string | undefined {
  const start = text.trimStart();
  if (start.startsWith("{")) return start;
  const parsed = parseBoundedJson(text) ?? parseBoundedJson(`${text}"`);
  if (typeof parsed === "string") return parsed.trim() === "" ? "{}" : objectIn(parsed);
  const isEmpty = parsed === null || (Array.isArray(parsed) && parsed.length === 0);
  return isEmpty ? "{}" : undefined;
}

function objectIn(text: string): string | undefined {
  return text.trimStart().startsWith("{") ? text : undefined;
}

/** A call in a complete text that is not JSON, if what is left after repairs names a tool. */
export function findDamagedCall(text: string, shape: JsonShape): DamagedCall | undefined {
  const repaired = /^\s*[[{`]/u.test(text) ? repairJson(text, undefined) : undefined;
  const parsed = repaired === undefined ? undefined : parseBoundedJson(repaired);
  return isJsonObject(parsed) ? findCall(parsed, shape) : undefined;
}

export type DamagedCall = { readonly name: string; readonly argumentsText: string };

function findCall(object: JsonObject, shape: JsonShape): DamagedCall | undefined {
  const name = firstOf(object, shape.nameKeys);
  const wrapped = firstOf(object, shape.wrappers);
  if (typeof name !== "string" || name === "")
    return isJsonObject(wrapped) ? findCall(wrapped, shape) : undefined;
  const given = firstOf(object, shape.argumentKeys) ?? {};
  const argumentsText = toObjectText(JSON.stringify(given));
  return argumentsText === undefined ? undefined : { name, argumentsText };
}

function firstOf(object: JsonObject, keys: readonly string[]): JsonValue | undefined {
  return keys
    .map((key) => (Object.hasOwn(object, key) ? object[key] : undefined))
    .find((value) => value !== undefined);
}

function* readFields(scanner: Scanner, context: JsonCallContext, call: PartialCall): ParserSteps<Outcome> {
  if ((yield* takeCharacter(scanner, "{")) === undefined) return unexpectedInput(scanner);
  for (;;) {
    // A trailing comma.
    if ((yield* takeCharacter(scanner, "}")) !== undefined) return "complete";
    if ((yield* peek(scanner)) !== '"') return unexpectedInput(scanner);
    const key = yield* collectJson(scanner);
    if (!key.isComplete) return "unfinished";
    if ((yield* takeCharacter(scanner, ":")) === undefined) return unexpectedInput(scanner);
    yield* skipWhitespace(scanner);
    const outcome = yield* readField(scanner, context, { key: String(parseBoundedJson(key.text)), call });
    if (outcome !== "complete") return outcome;
    const character = yield* takeCharacter(scanner, ",}");
    if (character === "}") return "complete";
    if (character === undefined) return unexpectedInput(scanner);
  }
}

type Field = { readonly key: string; readonly call: PartialCall };

function* readField(scanner: Scanner, context: JsonCallContext, { key, call }: Field): ParserSteps<Outcome> {
  const { shape } = context;
  const next = yield* peek(scanner);
  if (shape.nameIsKey === true) {
    call.name = key;
    return yield* readArguments(scanner, context, call);
  }
  if (shape.wrappers.includes(key) && next === "{") return yield* readFields(scanner, context, call);
  if (shape.wrappers.includes(key) && next === "[") {
    scanner.take(1);
    call.isList = true;
    return yield* readList(scanner, context);
  }
  if (shape.argumentKeys.includes(key)) return yield* readArguments(scanner, context, call);
  const value = yield* collectJson(scanner);
  if (!value.isComplete) return "unfinished";
  const parsed = parseBoundedJson(value.text);
  if (shape.nameKeys.includes(key) && typeof parsed === "string") call.name = parsed;
  if (shape.idKeys.includes(key) && typeof parsed === "string") call.id = parsed;
  const isUnknown =
    call.name === undefined ? key !== "type" && key !== "id" : !context.writer.hasTool(call.name);
  return shape.isUnmarked === true && isUnknown ? "other" : "complete";
}

function* readArguments(scanner: Scanner, context: JsonCallContext, call: PartialCall): ParserSteps<Outcome> {
  const isObject = (yield* peek(scanner)) === "{";
  const { writer, shape } = context;
  if (shape.isUnmarked === true && (call.name === undefined || !writer.hasTool(call.name))) return "other";
  if (isObject && call.name !== undefined && shape.idComesLast !== true) {
    writer.start(call.name, call.id);
    call.isEmitted = true;
    return (yield* writer.readArguments(scanner, false)) ? "complete" : "unfinished";
  }
  const { text, isComplete } = yield* collectJson(scanner);
  call.argumentsText = text;
  return isComplete ? "complete" : "unfinished";
}

/** The input is not what was expected: either it has ended, or it is not a call. */
function unexpectedInput(scanner: Scanner): Outcome {
  return scanner.unread === "" && scanner.endedBy !== undefined ? "unfinished" : "other";
}
