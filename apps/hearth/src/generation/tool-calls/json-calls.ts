import { parseBoundedJson } from "@hearth-and-keep/bounded-json";
import { peek, peekAfterWhitespace, skipWhitespace } from "../stream-parser/read-text.ts";
import type { ParserSteps, Scanner } from "../stream-parser/scanner.ts";
import type { CallWriter } from "./call-writer.ts";
import { collectJson, readJsonText, takeCharacter } from "./json-text.ts";

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
    const outcome = yield* readCall(scanner, context);
    if (outcome !== "complete") return outcome;
    const character = yield* takeCharacter(scanner, ",]");
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
  if (outcome !== "complete" || call.isList) return outcome;
  if (call.name === undefined) return "other";
  if (!call.isEmitted) {
    context.writer.start(call.name, call.id);
    // Missing arguments mean an empty object.
    context.writer.write(call.argumentsText ?? "{}");
  }
  context.writer.end();
  return "complete";
}

function* readFields(scanner: Scanner, context: JsonCallContext, call: PartialCall): ParserSteps<Outcome> {
  if ((yield* takeCharacter(scanner, "{")) === undefined) return unexpectedInput(scanner);
  if ((yield* takeCharacter(scanner, "}")) !== undefined) return "complete";
  for (;;) {
    yield* skipWhitespace(scanner);
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
    return (yield* readJsonText(scanner, (text) => writer.write(text))) ? "complete" : "unfinished";
  }
  const { text, isComplete } = yield* collectJson(scanner);
  if (!isComplete) return "unfinished";
  // Some models write the arguments as a string of JSON.
  const parsed = parseBoundedJson(text);
  call.argumentsText = typeof parsed === "string" ? parsed : text;
  return "complete";
}

/** The input is not what was expected: either it has ended, or it is not a call. */
function unexpectedInput(scanner: Scanner): Outcome {
  return scanner.unread === "" && scanner.endedBy !== undefined ? "unfinished" : "other";
}
