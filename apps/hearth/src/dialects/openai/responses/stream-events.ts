import type { TokenProbability } from "@hearth-and-keep/engine";
import type { GenerationEvent, ToolCallFailure } from "../../../generation/events.ts";
import type { WireFailure } from "../errors.ts";
import {
  type ItemStatus,
  type OpenItem,
  type OutputItem,
  openCall,
  openCompaction,
  openMessage,
  openReasoning,
  type UnnumberedEvent,
} from "./output-item.ts";
import type { CalledTool } from "./tool-names.ts";
import {
  type ResponseFrame,
  type ResponseObject,
  type ResponseState,
  writeResponse,
} from "./write-response.ts";

export type ResponseWriterOptions = {
  readonly frame: ResponseFrame;
  readonly toolOf: (modelName: string) => CalledTool;
  /** Adds the sealed reasoning to its items, if requested. */
  readonly sealReasoning?: ((text: string) => string) | undefined;
  /** Makes the text of the model a summary that only this server can read. */
  readonly sealSummary?: ((text: string) => string) | undefined;
};

export type ResponseEvent = UnnumberedEvent & { readonly sequence_number: number };

type EndEvent = Extract<GenerationEvent, { type: "generation-end" }>;
type CallEvent = Extract<
  GenerationEvent,
  { type: "tool-call-start" | "tool-call-delta" | "tool-call-end" | "tool-call-fail" }
>;

/**
 * Translates generation events into the events of one response:
 * not started → created → in progress → items, one at a time → completed, incomplete or failed.
 * An item stays open until output of another type arrives; text after a call becomes a new message.
 */
export class ResponseWriter {
  readonly #options: ResponseWriterOptions;
  #nextNumber = 0;
  #open: OpenItem | undefined;
  #startedCalls = 0;
  readonly #written: OutputItem[] = [];
  #response: ResponseObject | undefined;

  constructor(options: ResponseWriterOptions) {
    this.#options = options;
  }

  /** The response as of the last event. */
  get response(): ResponseObject {
    return this.#response ?? this.#describe({ status: "in_progress" });
  }

  write(event: GenerationEvent): readonly ResponseEvent[] {
    // Nothing is sent before the engine starts, so that a failure until then has its own HTTP status.
    if (event.type === "generation-start") return [];
    return this.#number([...this.#begin(), ...this.#translate(event)]);
  }

  /**
   * As OpenAI's own service does it: official clients throw on the error event, with its message, and agents end their
   * turn on the failed response. That is the last event; after it, some clients would report the error twice.
   */
  fail({ status, error }: WireFailure): readonly ResponseEvent[] {
    const { message, param, type } = error;
    const code = error.code ?? (status < 500 ? "invalid_prompt" : "server_error");
    const started = this.#begin();
    const failed = this.#finish({ status: "failed", error: { code, message } });
    return this.#number([
      ...started,
      { type: "error", code, message, param, error: { type, code, message, param } },
      failed,
    ]);
  }

  #begin(): readonly UnnumberedEvent[] {
    if (this.#response !== undefined) return [];
    const response = this.#describe({ status: "in_progress" });
    this.#response = response;
    return [
      { type: "response.created", response },
      { type: "response.in_progress", response },
    ];
  }

  #translate(event: Exclude<GenerationEvent, { type: "generation-start" }>): readonly UnnumberedEvent[] {
    switch (event.type) {
      case "prompt-progress":
        return [];
      case "text-delta":
        return event.text === "" ? [] : this.#write("message", event.text, event.tokens);
      case "reasoning-delta":
        return event.text === "" || this.#isSummary ? [] : this.#write("reasoning", event.text);
      case "generation-end":
        return this.#end(event);
      case "tool-call-start":
      case "tool-call-delta":
      case "tool-call-end":
      case "tool-call-fail":
        return this.#translateCall(event);
    }
  }

  #translateCall(event: CallEvent): readonly UnnumberedEvent[] {
    switch (event.type) {
      case "tool-call-start": {
        this.#startedCalls = event.index + 1;
        const closed = this.#close("completed");
        const tool = this.#options.toolOf(event.name);
        return [...closed, ...this.#start(openCall(this.#written.length, event.id, tool))];
      }
      case "tool-call-delta":
        return this.#openCall()?.write(event.argumentsText) ?? [];
      case "tool-call-end":
        // Engines that parse tool calls themselves may end a call after later text has already closed it.
        return this.#openCall() === undefined ? [] : this.#close("completed");
      case "tool-call-fail":
        return this.#failCall(event);
    }
  }

  /** Malformed output that never became a call is text; truncated output is dropped. */
  #failCall({ index, reason, text }: ToolCallFailure): readonly UnnumberedEvent[] {
    if (this.#openCall() !== undefined) return this.#close("incomplete");
    const isText = index >= this.#startedCalls && reason === "malformed" && text !== "";
    return isText ? this.#write("message", text) : [];
  }

  #openCall(): OpenItem | undefined {
    const type = this.#open?.type ?? "message";
    return type === "message" || type === "reasoning" || type === "compaction" ? undefined : this.#open;
  }

  #write(
    type: "message" | "reasoning",
    text: string,
    tokens?: readonly TokenProbability[],
  ): readonly UnnumberedEvent[] {
    const events: UnnumberedEvent[] = [];
    if (this.#open?.type !== (this.#isSummary ? "compaction" : type)) {
      events.push(...this.#close("completed"));
      const index = this.#written.length;
      const { sealReasoning } = this.#options;
      const item = type === "message" ? this.#openText(index) : openReasoning(index, sealReasoning);
      events.push(...this.#start(item));
    }
    return [...events, ...(this.#open?.write(text, tokens) ?? [])];
  }

  get #isSummary(): boolean {
    return this.#options.sealSummary !== undefined;
  }

  #openText(index: number): OpenItem {
    const { sealSummary } = this.#options;
    return sealSummary === undefined ? openMessage(index) : openCompaction(index, sealSummary);
  }

  #start(item: OpenItem): readonly UnnumberedEvent[] {
    this.#open = item;
    const position = { output_index: this.#written.length };
    const added = { type: "response.output_item.added", ...position, item: item.snapshot("in_progress") };
    return [added, ...item.begin()];
  }

  #close(status: ItemStatus): readonly UnnumberedEvent[] {
    const open = this.#open;
    if (open === undefined) return [];
    this.#open = undefined;
    const added = status === "completed" ? defaultArguments(open) : [];
    const item = open.snapshot(status);
    const position = { output_index: this.#written.length };
    this.#written.push(item);
    return [...added, ...open.end(), { type: "response.output_item.done", ...position, item }];
  }

  #end({ reason, usage }: EndEvent): readonly UnnumberedEvent[] {
    const status = reason === "length" ? "incomplete" : "completed";
    // Clients expect a message even if the model generates nothing.
    const isEmpty = this.#open === undefined && this.#written.length === 0;
    const empty = isEmpty ? this.#start(this.#openText(0)) : [];
    return [...empty, ...this.#close(status), this.#finish({ status, usage })];
  }

  #finish(state: ResponseState): UnnumberedEvent {
    this.#response = this.#describe(state);
    return { type: `response.${state.status}`, response: this.#response };
  }

  #describe(state: ResponseState): ResponseObject {
    const truncated = this.#open === undefined ? [] : [this.#open.snapshot("incomplete")];
    return writeResponse(this.#options.frame, state, [...this.#written, ...truncated]);
  }

  #number(events: readonly UnnumberedEvent[]): readonly ResponseEvent[] {
    return events.map((event) => ({ ...event, sequence_number: this.#nextNumber++ }));
  }
}

/** Clients parse the arguments, so an empty string becomes an empty object. */
function defaultArguments(open: OpenItem): readonly UnnumberedEvent[] {
  const item = open.snapshot("in_progress");
  return item.type === "function_call" && item.arguments === "" ? open.write("{}") : [];
}
