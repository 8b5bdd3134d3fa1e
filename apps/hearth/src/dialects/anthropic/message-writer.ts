import { randomUUID } from "node:crypto";
import type { AnswerEvent } from "../../generation/answer-request.ts";
import type { ContentBlock, MessageEvent, MessageUsage, StopReason } from "./message-events.ts";

export type MessagePlan = {
  /** The model's name, as the caller wrote it. */
  readonly model: string;
  /** `empty` shows that there was some, but not what. */
  readonly thinking: "shown" | "empty" | "hidden";
  readonly mostTokens: number;
  /** The caller's own; one of the model's ends the turn without being told. */
  readonly stops: readonly string[];
  /** Whether the client knows a stop reason that older ones do not. */
  readonly knowsFullContext: boolean;
};

type GenerationEnd = Extract<AnswerEvent, { type: "generation-end" }>;

/** Clients give thinking back only with a signature. Nothing is signed here, and none is checked. */
const noSignature = "dW5zaWduZWQ=";

/**
 * Turns the events of one answer into those of one message. At most one block is open:
 *
 *   not started --prompt's length known, or anything to show--> between blocks
 *   between blocks --first delta of a kind--> in a block --delta of another kind, or the end--> between blocks
 *   between blocks --end--> stopped
 */
export class MessageWriter {
  readonly #plan: MessagePlan;
  #isStarted = false;
  #openBlock: ContentBlock["type"] | undefined;
  #nextIndex = 0;

  constructor(plan: MessagePlan) {
    this.#plan = plan;
  }

  take(event: AnswerEvent): readonly MessageEvent[] {
    switch (event.type) {
      case "answer-start":
        return [];
      case "prompt-progress":
        return this.#start({ promptTokens: event.total, cachedTokens: event.cached });
      case "reasoning-delta":
        return this.#think(event.text);
      case "text-delta":
        return event.text === "" ? [] : this.#say(event.text);
      case "tool-call-start":
        return this.#open({ type: "tool_use", id: toolUseId(event.id), name: event.name, input: {} });
      case "tool-call-delta":
        return [this.#delta({ type: "input_json_delta", partial_json: event.argumentsText })];
      case "tool-call-end":
        return this.#close();
      case "tool-call-fail":
        return this.#failCall(event);
      case "generation-end":
        return this.#end(event);
    }
  }

  #start(usage: { readonly promptTokens: number; readonly cachedTokens: number }): MessageEvent[] {
    if (this.#isStarted) return [];
    this.#isStarted = true;
    const message = {
      id: `msg_${randomUUID().replaceAll("-", "")}`,
      type: "message",
      role: "assistant",
      model: this.#plan.model,
      content: [],
      stop_reason: null,
      stop_sequence: null,
      usage: usageOf({ ...usage, outputTokens: 0 }),
    } as const;
    return [{ type: "message_start", message }, { type: "ping" }];
  }

  #think(thinking: string): MessageEvent[] {
    if (this.#plan.thinking === "hidden" || thinking === "") return [];
    const opened = this.#openUnlessOpen({ type: "thinking", thinking: "", signature: "" });
    return this.#plan.thinking === "empty"
      ? opened
      : [...opened, this.#delta({ type: "thinking_delta", thinking })];
  }

  #say(text: string): MessageEvent[] {
    return [...this.#openUnlessOpen({ type: "text", text: "" }), this.#delta({ type: "text_delta", text })];
  }

  #openUnlessOpen(block: ContentBlock): MessageEvent[] {
    return this.#openBlock === block.type ? [] : this.#open(block);
  }

  #open(block: ContentBlock): MessageEvent[] {
    const before = [...this.#start({ promptTokens: 0, cachedTokens: 0 }), ...this.#close()];
    this.#openBlock = block.type;
    return [...before, { type: "content_block_start", index: this.#nextIndex, content_block: block }];
  }

  #delta(delta: Extract<MessageEvent, { type: "content_block_delta" }>["delta"]): MessageEvent {
    return { type: "content_block_delta", index: this.#nextIndex, delta };
  }

  #close(): MessageEvent[] {
    if (this.#openBlock === undefined) return [];
    const isThinking = this.#openBlock === "thinking";
    const signed = isThinking ? [this.#delta({ type: "signature_delta", signature: noSignature })] : [];
    const events: MessageEvent[] = [...signed, { type: "content_block_stop", index: this.#nextIndex }];
    this.#openBlock = undefined;
    this.#nextIndex += 1;
    return events;
  }

  /** What a limit cut off is told by the stop reason; what is no call at all is shown as the text it is. */
  #failCall({ reason, text }: Extract<AnswerEvent, { type: "tool-call-fail" }>): MessageEvent[] {
    if (this.#openBlock === "tool_use") return this.#close();
    return reason === "malformed" && text !== "" ? this.#say(text) : [];
  }

  #end(end: GenerationEnd): MessageEvent[] {
    const { usage } = end;
    const isOwnStop = end.stopSequence !== undefined && this.#plan.stops.includes(end.stopSequence);
    const delta = {
      stop_reason: this.#stopReasonOf(end, isOwnStop),
      stop_sequence: isOwnStop ? (end.stopSequence ?? null) : null,
    };
    const { reasoningTokens } = usage;
    const details =
      reasoningTokens === 0 ? {} : { output_tokens_details: { thinking_tokens: reasoningTokens } };
    return [
      ...this.#start(usage),
      ...this.#close(),
      { type: "message_delta", delta, usage: { ...usageOf(usage), ...details } },
      { type: "message_stop" },
    ];
  }

  #stopReasonOf({ reason, usage }: GenerationEnd, isOwnStop: boolean): StopReason {
    const { mostTokens, knowsFullContext } = this.#plan;
    switch (reason) {
      case "stop":
        return "end_turn";
      case "stop-sequence":
        return isOwnStop ? "stop_sequence" : "end_turn";
      case "tool-calls":
        return "tool_use";
      case "length": {
        const isContextFull = usage.outputTokens < mostTokens;
        return isContextFull && knowsFullContext ? "model_context_window_exceeded" : "max_tokens";
      }
    }
  }
}

type Counts = {
  readonly promptTokens: number;
  readonly cachedTokens: number;
  readonly outputTokens: number;
};

function usageOf({ promptTokens, cachedTokens, outputTokens }: Counts): MessageUsage {
  return {
    input_tokens: promptTokens - cachedTokens,
    cache_creation_input_tokens: 0,
    cache_read_input_tokens: cachedTokens,
    output_tokens: outputTokens,
  };
}

function toolUseId(id: string): string {
  return `toolu_${id.replace(/^call_/u, "")}`;
}
