import { randomUUID } from "node:crypto";
import { parseBoundedJson } from "@hearth-and-keep/bounded-json";
import type { Tool } from "@hearth-and-keep/engine";
import { isJsonObject } from "@hearth-and-keep/engine";
import type { ToolCallFailure } from "../events.ts";
import type { ParserSteps, Scanner } from "../stream-parser/scanner.ts";
import type { Emit } from "../stream-parser/split-events.ts";
import { type ArgumentSchema, propertySchema, typesOf } from "./argument-schema.ts";
import { repairJson, repairObject } from "./repair-json.ts";

export type CallWriterOptions = {
  readonly tools: readonly Tool[];
  /** Markers that come after a call. */
  readonly endMarkers: readonly string[];
};

/**
 * Emits the events of consecutive calls, counts them, and knows which tools may be called. The arguments of a call that
 * ends are always the JSON text of an object, however the model wrote them.
 */
export class CallWriter {
  readonly #emit: Emit;
  readonly #options: CallWriterOptions;
  #index = -1;
  #name: string | undefined;
  #argumentsText = "";
  /** Not emitted yet: everything that one chunk of output gives becomes one event. */
  #pending = "";
  /** Completes the arguments; written last, so that those of an unfinished call are never valid. */
  #closing = "";

  constructor(emit: Emit, options: CallWriterOptions) {
    this.#emit = emit;
    this.#options = options;
  }

  /** How many calls were started, complete or not. */
  get count(): number {
    return this.#index + 1;
  }

  /** Whether a call was started and has not ended. */
  get isOpen(): boolean {
    return this.#name !== undefined;
  }

  get endMarkers(): readonly string[] {
    return this.#options.endMarkers;
  }

  /** Without tools, no text is a call. */
  get hasTools(): boolean {
    return this.#options.tools.length > 0;
  }

  hasTool(name: string): boolean {
    return this.#options.tools.some((tool) => tool.name === name);
  }

  /** The types that the schema of the open call allows for an argument; undefined if any. */
  argumentTypes(argument: string): ReadonlySet<string> | undefined {
    return typesOf(this.argumentSchema(argument));
  }

  argumentSchema(argument: string): ArgumentSchema {
    return propertySchema(this.#schema, argument);
  }

  /** A tool that is not offered is passed on: the client reports it to the model. */
  start(name: string, id: string | undefined): void {
    const bare = name.replace(/^functions\./u, "");
    this.#name = this.hasTool(name) ? name : bare;
    this.#index += 1;
    this.#argumentsText = "";
    this.#pending = "";
    this.#closing = "";
    const generatedId = `call_${randomUUID().replaceAll("-", "").slice(0, 24)}`;
    const start = { index: this.#index, id: id ?? generatedId, name: this.#name };
    this.#emit({ type: "tool-call-start", ...start });
  }

  /**
   * Reads the arguments, which start here with a brace; false if the text ends first. If they are the last part of the
   * call, it is complete with them.
   */
  *readArguments(scanner: Scanner, isLastPart: boolean): ParserSteps<boolean> {
    const write = (text: string): void => {
      this.#pending += text;
    };
    this.#closing = "}";
    const steps = repairObject({ scanner, write, endMarkers: this.endMarkers }, this.#schema);
    for (;;) {
      const { done, value } = steps.next();
      if (done === true && value !== "cut" && isLastPart) {
        this.#pending += this.#closing;
        this.#closing = "";
      }
      this.#flush();
      if (done === true) return value !== "cut";
      yield;
    }
  }

  /** Writes a complete object. */
  writeArguments(json: string): void {
    this.writeValue(repairJson(json, this.#schema) ?? "{}");
  }

  /** Starts an argument. Its value is written with `writeValue`, in one or more parts. */
  startArgument(name: string): void {
    this.#pending += `${this.#argumentsText === "" ? "{" : ", "}${JSON.stringify(name)}: `;
    this.#closing = "}";
  }

  writeValue(json: string): void {
    this.#pending += json;
    this.#flush();
  }

  end(): void {
    this.writeValue(this.#argumentsText === "" ? "{}" : this.#closing);
    const parsed = parseBoundedJson(this.#argumentsText);
    if (!isJsonObject(parsed)) return this.fail("malformed", this.#argumentsText);
    this.#name = undefined;
    this.#emit({ type: "tool-call-end", index: this.#index, arguments: parsed });
  }

  /** Malformed output that never became a call is text. */
  fail(reason: ToolCallFailure["reason"], text: string): void {
    if (!this.isOpen && reason === "malformed") {
      if (text !== "") this.#emit({ type: "text-delta", text });
      return;
    }
    if (!this.isOpen) this.#index += 1;
    this.#name = undefined;
    this.#emit({ type: "tool-call-fail", index: this.#index, reason, text });
  }

  get #schema(): ArgumentSchema {
    const root = this.#options.tools.find((tool) => tool.name === this.#name)?.parameters;
    return root === undefined ? undefined : { root, schema: root };
  }

  #flush(): void {
    const argumentsText = this.#pending;
    if (argumentsText === "") return;
    this.#pending = "";
    this.#argumentsText += argumentsText;
    this.#emit({ type: "tool-call-delta", index: this.#index, argumentsText });
  }
}
