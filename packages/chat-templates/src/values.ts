import { type JsonValue } from "@hearth-and-keep/engine";
import type { Budget } from "./budget.ts";
import { toByteText } from "./byte-text.ts";
import { TemplateError } from "./template-error.ts";

/** A value of the template language. Values have identity: probes read from `uses` how the template used them. */
export type Value = (
  | { readonly kind: "undefined" | "none" }
  | { readonly kind: "boolean"; readonly is: boolean }
  | { readonly kind: "integer" | "float"; readonly number: number }
  | { readonly kind: "string"; readonly text: string }
  | ListValue
  | ObjectValue
  | FunctionValue
  | { readonly kind: "keyword"; readonly name: string; readonly value: Value }
) & { uses?: Set<string> };

export type ListValue = {
  readonly kind: "list";
  readonly items: Value[];
  readonly isTuple: boolean;
} & Observable;
export type ObjectValue = {
  readonly kind: "object";
  readonly entries: Map<string, Entry>;
  /** False for the `loop` variable, so that its own keys take precedence. */
  readonly hasMethods: boolean;
} & Observable;
type FunctionValue = { readonly kind: "function"; readonly call: Callee } & Observable;
export type Entry = { readonly key: Value; value: Value };
export type Callee = (values: readonly Value[], run: Run) => Value;

/** The state of a template run; `scope` is the current scope. */
export type Run = { readonly scope: Scope; readonly budget: Budget; readonly now: Date };

type Observable = { uses?: Set<string> };

export class Scope {
  readonly #variables = new Map<string, Value | (() => Value)>();
  readonly #outer: Scope | undefined;

  constructor(outer?: Scope) {
    this.#outer = outer;
  }

  find(name: string): Value | undefined {
    const found = this.#variables.get(name);
    if (typeof found === "function") return this.#create(name, found);
    return found ?? this.#outer?.find(name);
  }

  set(name: string, value: Value): void {
    this.#variables.set(name, value);
  }

  /** For rarely used values, which are created on first access. */
  setLazily(name: string, create: () => Value): void {
    this.#variables.set(name, create);
  }

  #create(name: string, create: () => Value): Value {
    const value = create();
    this.#variables.set(name, value);
    return value;
  }
}

/** Only observed values record uses, so that ordinary runs have no overhead. */
export function recordUse(value: Value, operation?: string): void {
  value.uses?.add("used");
  if (operation !== undefined) value.uses?.add(operation);
}

/** Makes the value and everything in it record how it is used. */
export function observe(value: Value): void {
  value.uses = new Set();
  if (value.kind === "list") for (const item of value.items) observe(item);
  if (value.kind === "object") for (const entry of value.entries.values()) observe(entry.value);
}

export function recordUseDeeply(value: Value): void {
  if (value.uses === undefined) return;
  recordUse(value);
  if (value.kind === "list") for (const item of value.items) recordUseDeeply(item);
  if (value.kind === "object") for (const entry of value.entries.values()) recordUseDeeply(entry.value);
}

/** Charges the budget for traversing a value. A list can contain another many times, so a traversal may never end. */
export function spendTraversal(value: Value, budget: Budget): void {
  if (value.kind === "list") {
    budget.spend(value.items.length);
    for (const item of value.items) spendTraversal(item, budget);
  } else if (value.kind === "object") {
    budget.spend(value.entries.size);
    for (const entry of value.entries.values()) spendTraversal(entry.value, budget);
  }
}

export const makeUndefined = (): Value => ({ kind: "undefined" });
export const makeNone = (): Value => ({ kind: "none" });
export const makeBoolean = (is: boolean): Value => ({ kind: "boolean", is });
export const makeInteger = (number: number): Value => ({ kind: "integer", number });
export const makeFloat = (number: number): Value => ({ kind: "float", number });
export const makeText = (text: string): Value => ({ kind: "string", text });
export const makeFunction = (call: Callee): Value => ({ kind: "function", call });
export const makeList = (items: Value[], isTuple = false): Value => ({ kind: "list", items, isTuple });

export function makeObject(entries: Iterable<readonly [string, Value]>, hasMethods = true): ObjectValue {
  const object: ObjectValue = { kind: "object", entries: new Map(), hasMethods };
  for (const [name, value] of entries) insert(object, makeText(name), value);
  return object;
}

export function insert(object: ObjectValue, key: Value, value: Value): void {
  const id = keyId(key);
  const entry = object.entries.get(id);
  if (entry === undefined) object.entries.set(id, { key, value });
  else entry.value = value;
}

export function getEntry(object: ObjectValue, key: Value): Value | undefined {
  return object.entries.get(keyId(key))?.value;
}

/** Equal keys have equal ids: 1, 1.0 and true are the same key, as in Python. */
function keyId(key: Value): string {
  switch (key.kind) {
    case "string":
      return `s${key.text}`;
    case "integer":
    case "float":
      return `n${key.number}`;
    case "boolean":
      return `n${Number(key.is)}`;
    case "none":
      return "none";
    case "list":
      // A nested tuple could contain another one many times, which would make its id arbitrarily long.
      if (key.isTuple && key.items.every(({ kind }) => kind !== "list")) {
        return `t${JSON.stringify(key.items.map(keyId))}`;
      }
      break;
    case "undefined":
    case "object":
    case "function":
    case "keyword":
  }
  throw new TemplateError(`type "${key.kind}" cannot be a key`);
}

export function fromJson(json: JsonValue): Value {
  if (json === null) return makeNone();
  if (typeof json === "string") return makeText(toByteText(json));
  if (typeof json === "boolean") return makeBoolean(json);
  if (typeof json === "number") return Number.isInteger(json) ? makeInteger(json) : makeFloat(json);
  if (isList(json)) return makeList(json.map(fromJson));
  return makeObject(Object.entries(json).map(([name, value]) => [toByteText(name), fromJson(value)]));
}

/** Array.isArray does not narrow read-only arrays. */
function isList(json: JsonValue): json is readonly JsonValue[] {
  return Array.isArray(json);
}

export function isTrue(value: Value): boolean {
  switch (value.kind) {
    case "boolean":
      return value.is;
    case "integer":
    case "float":
      return value.number !== 0;
    case "string":
      return value.text !== "";
    case "list":
      return value.items.length > 0;
    case "object":
      return value.entries.size > 0;
    case "undefined":
    case "none":
      return false;
    case "function":
    case "keyword":
      throw new TemplateError(`type "${value.kind}" has no truth value`);
  }
}
