import type { AnswerEvent } from "../../../generation/answer-request.ts";
import type { ToolCallFailure } from "../../../generation/events.ts";
import type { WireFailure } from "../errors.ts";
import {
  type ItemStatus,
  type OpenItem,
  type OutputItem,
  openFunctionCall,
  openMessage,
  openReasoning,
  type UnnumberedEvent,
} from "./output-item.ts";
import {
  describeResponse,
  type ResponseFrame,
  type ResponseObject,
  type ResponseState,
} from "./response-object.ts";
import type { ToolName } from "./tool-names.ts";

export type WriterPlan = {
  readonly frame: ResponseFrame;
  readonly nameOf: (shownName: string) => ToolName;
};

export type ResponseEvent = UnnumberedEvent & { readonly sequence_number: number };

type EndEvent = Extract<AnswerEvent, { type: "generation-end" }>;
type CallEvent = Extract<
  AnswerEvent,
  { type: "tool-call-start" | "tool-call-delta" | "tool-call-end" | "tool-call-fail" }
>;

/**
 * Writes one response. Nothing → created → in progress → items, one after another → completed, incomplete or failed.
 * An item is open until something of another type comes; text after a call is a message of its own.
 */
export class ResponseWriter {
  readonly #plan: WriterPlan;
  #nextNumber = 0;
  #open: OpenItem | undefined;
  #startedCalls = 0;
  readonly #written: OutputItem[] = [];
  #response: ResponseObject | undefined;

  constructor(plan: WriterPlan) {
    this.#plan = plan;
  }

  /** As the last event left it. */
  get response(): ResponseObject {
    return this.#response ?? this.#describe({ status: "in_progress" });
  }

  take(event: AnswerEvent): readonly ResponseEvent[] {
    // Until the engine has begun, a failure is answered with its own status.
    if (event.type === "answer-start") return [];
    return this.#number([...this.#begin(), ...this.#translate(event)]);
  }

  /** The error event comes last, because official clients stop reading at it, and throw. */
  fail({ status, error }: WireFailure): readonly ResponseEvent[] {
    const { message, param, type } = error;
    const code = error.code ?? (status < 500 ? "invalid_prompt" : "server_error");
    const begun = this.#begin();
    const failed = this.#finish({ status: "failed", error: { code, message } });
    return this.#number([
      ...begun,
      failed,
      { type: "error", code, message, param, error: { type, code, message, param } },
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

  #translate(event: Exclude<AnswerEvent, { type: "answer-start" }>): readonly UnnumberedEvent[] {
    switch (event.type) {
      case "prompt-progress":
        return [];
      case "text-delta":
        return event.text === "" ? [] : this.#write("message", event.text);
      case "reasoning-delta":
        return event.text === "" ? [] : this.#write("reasoning", event.text);
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
        const name = this.#plan.nameOf(event.name);
        return [...closed, ...this.#start(openFunctionCall(this.#written.length, event.id, name))];
      }
      case "tool-call-delta":
        return this.#openCall()?.write(event.argumentsText) ?? [];
      case "tool-call-end":
        // Engines that split the answer themselves can end a call late, when text has already closed it.
        return this.#openCall() === undefined ? [] : this.#close("completed");
      case "tool-call-fail":
        return this.#failCall(event);
    }
  }

  /** What never became a call was text after all, unless it was cut off in its first words. */
  #failCall({ index, reason, text }: ToolCallFailure): readonly UnnumberedEvent[] {
    if (this.#openCall() !== undefined) return this.#close("incomplete");
    const isText = index >= this.#startedCalls && reason === "malformed" && text !== "";
    return isText ? this.#write("message", text) : [];
  }

  #openCall(): OpenItem | undefined {
    return this.#open?.type === "function_call" ? this.#open : undefined;
  }

  #write(type: "message" | "reasoning", text: string): readonly UnnumberedEvent[] {
    const events: UnnumberedEvent[] = [];
    if (this.#open?.type !== type) {
      events.push(...this.#close("completed"));
      const index = this.#written.length;
      events.push(...this.#start(type === "message" ? openMessage(index) : openReasoning(index)));
    }
    return [...events, ...(this.#open?.write(text) ?? [])];
  }

  #start(item: OpenItem): readonly UnnumberedEvent[] {
    this.#open = item;
    const place = { output_index: this.#written.length };
    const added = { type: "response.output_item.added", ...place, item: item.snapshot("in_progress") };
    return [added, ...item.begin()];
  }

  #close(status: ItemStatus): readonly UnnumberedEvent[] {
    const open = this.#open;
    if (open === undefined) return [];
    this.#open = undefined;
    const added = status === "completed" ? withArguments(open) : [];
    const item = open.snapshot(status);
    const place = { output_index: this.#written.length };
    this.#written.push(item);
    return [...added, ...open.end(), { type: "response.output_item.done", ...place, item }];
  }

  #end({ reason, usage }: EndEvent): readonly UnnumberedEvent[] {
    const status = reason === "length" ? "incomplete" : "completed";
    // A model that says nothing still answers: clients look for a message.
    const isEmpty = this.#open === undefined && this.#written.length === 0;
    const empty = isEmpty ? this.#start(openMessage(0)) : [];
    return [...empty, ...this.#close(status), this.#finish({ status, usage })];
  }

  #finish(state: ResponseState): UnnumberedEvent {
    this.#response = this.#describe(state);
    return { type: `response.${state.status}`, response: this.#response };
  }

  #describe(state: ResponseState): ResponseObject {
    const cut = this.#open === undefined ? [] : [this.#open.snapshot("incomplete")];
    return describeResponse(this.#plan.frame, state, [...this.#written, ...cut]);
  }

  #number(events: readonly UnnumberedEvent[]): readonly ResponseEvent[] {
    return events.map((event) => ({ ...event, sequence_number: this.#nextNumber++ }));
  }
}

/** A call without arguments has written nothing so far; clients parse what they get. */
function withArguments(open: OpenItem): readonly UnnumberedEvent[] {
  const item = open.snapshot("in_progress");
  return item.type === "function_call" && item.arguments === "" ? open.write("{}") : [];
}
