import { randomUUID } from "node:crypto";
import { parseBoundedJson } from "@hearth-and-keep/bounded-json";
import type { JsonObject, Tool } from "@hearth-and-keep/engine";
import type { ToolCallFailure } from "../events.ts";
import type { Emit } from "../stream-parser/split-events.ts";

/** Emits the events of consecutive calls, counts them, and knows which tools may be called. */
export class CallWriter {
  readonly #emit: Emit;
  readonly #tools: readonly Tool[];
  #index = -1;
  #isOpen = false;
  #argumentsText = "";

  constructor(emit: Emit, tools: readonly Tool[]) {
    this.#emit = emit;
    this.#tools = tools;
  }

  /** How many calls were started, complete or not. */
  get count(): number {
    return this.#index + 1;
  }

  hasTool(name: string): boolean {
    return this.#tools.some((tool) => tool.name === name);
  }

  /** The JSON Schema type of an argument; undefined if the schema does not specify it. */
  argumentType(name: string, argument: string): unknown {
    const properties = this.#tools.find((tool) => tool.name === name)?.parameters?.["properties"];
    if (!isJsonObject(properties)) return undefined;
    const schema = properties[argument];
    return isJsonObject(schema) ? schema["type"] : undefined;
  }

  start(name: string, id: string | undefined): void {
    this.#index += 1;
    this.#isOpen = true;
    this.#argumentsText = "";
    const generatedId = `call_${randomUUID().replaceAll("-", "").slice(0, 24)}`;
    this.#emit({ type: "tool-call-start", index: this.#index, id: id ?? generatedId, name });
  }

  write(argumentsText: string): void {
    if (argumentsText === "") return;
    this.#argumentsText += argumentsText;
    this.#emit({ type: "tool-call-delta", index: this.#index, argumentsText });
  }

  end(): void {
    const parsed = parseBoundedJson(this.#argumentsText);
    if (!isJsonObject(parsed)) return this.fail("malformed", this.#argumentsText);
    this.#isOpen = false;
    this.#emit({ type: "tool-call-end", index: this.#index, arguments: parsed });
  }

  fail(reason: ToolCallFailure["reason"], text: string): void {
    if (!this.#isOpen) this.#index += 1;
    this.#isOpen = false;
    this.#emit({ type: "tool-call-fail", index: this.#index, reason, text });
  }
}

export function isJsonObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
