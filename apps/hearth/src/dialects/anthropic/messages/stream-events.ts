import type { GenerationEvent } from "../../../generation/events.ts";
import type { ContentBlock, MessageEvent, StopReason } from "./event-types.ts";
import { startMessage, usageOf } from "./message-frame.ts";

export type MessageOptions = {
  /** The model's name as it appears in the request. */
  readonly model: string;
  /** `empty` emits thinking blocks without their text. */
  readonly thinking: "shown" | "empty" | "hidden";
  readonly maxTokens: number;
  /** The request's own stop sequences; those of the model end the turn without being reported. */
  readonly stops: readonly string[];
  /** Whether the client knows the stop reason `model_context_window_exceeded`. */
  readonly knowsFullContext: boolean;
};

type GenerationEnd = Extract<GenerationEvent, { type: "generation-end" }>;

/** Clients send thinking blocks back only when they have a signature. Hearth neither signs nor verifies. */
const placeholderSignature = "dW5zaWduZWQ=";

/** The stream events of one message; each batch translates one generation event. */
export async function* streamEvents(
  events: AsyncIterable<GenerationEvent>,
  options: MessageOptions,
): AsyncGenerator<readonly MessageEvent[]> {
  const writer = new MessageWriter(options);
  for await (const event of events) yield writer.write(event);
}

const noOutput = { outputTokens: 0, reasoningTokens: 0 };

/**
 * Translates generation events into the events of one message. At most one block is open:
 *
 *   not started --prompt length known, or first output--> between blocks
 *   between blocks --first delta of a kind--> in a block --delta of another kind, or the end--> between blocks
 *   between blocks --end--> stopped
 */
class MessageWriter {
  readonly #options: MessageOptions;
  #isStarted = false;
  #openBlock: ContentBlock["type"] | undefined;
  #nextIndex = 0;

  constructor(options: MessageOptions) {
    this.#options = options;
  }

  write(event: GenerationEvent): readonly MessageEvent[] {
    switch (event.type) {
      case "generation-start":
        return [];
      case "prompt-progress":
        return this.#start({ promptTokens: event.total, cachedTokens: event.cached });
      case "reasoning-delta":
        return this.#writeThinking(event.text);
      case "text-delta":
        return event.text === "" ? [] : this.#writeText(event.text);
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
    return [...startMessage(this.#options.model, usageOf({ ...usage, ...noOutput }))];
  }

  #writeThinking(thinking: string): MessageEvent[] {
    if (this.#options.thinking === "hidden" || thinking === "") return [];
    const opened = this.#openUnlessOpen({ type: "thinking", thinking: "", signature: "" });
    return this.#options.thinking === "empty"
      ? opened
      : [...opened, this.#delta({ type: "thinking_delta", thinking })];
  }

  #writeText(text: string): MessageEvent[] {
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
    const signed = isThinking
      ? [this.#delta({ type: "signature_delta", signature: placeholderSignature })]
      : [];
    const events: MessageEvent[] = [...signed, { type: "content_block_stop", index: this.#nextIndex }];
    this.#openBlock = undefined;
    this.#nextIndex += 1;
    return events;
  }

  /** The stop reason reports a truncated call; malformed output that never became a call is sent as text. */
  #failCall({ reason, text }: Extract<GenerationEvent, { type: "tool-call-fail" }>): MessageEvent[] {
    if (this.#openBlock === "tool_use") return this.#close();
    return reason === "malformed" && text !== "" ? this.#writeText(text) : [];
  }

  #end(end: GenerationEnd): MessageEvent[] {
    const { usage } = end;
    const isOwnStop = end.stopSequence !== undefined && this.#options.stops.includes(end.stopSequence);
    const delta = {
      stop_reason: this.#stopReasonOf(end, isOwnStop),
      stop_sequence: isOwnStop ? (end.stopSequence ?? null) : null,
    };
    return [
      ...this.#start(usage),
      ...this.#close(),
      { type: "message_delta", delta, usage: usageOf(usage) },
      { type: "message_stop" },
    ];
  }

  #stopReasonOf({ reason, usage }: GenerationEnd, isOwnStop: boolean): StopReason {
    const { maxTokens, knowsFullContext } = this.#options;
    switch (reason) {
      case "stop":
        return "end_turn";
      case "stop-sequence":
        return isOwnStop ? "stop_sequence" : "end_turn";
      case "tool-calls":
        return "tool_use";
      case "length": {
        const isContextFull = usage.outputTokens < maxTokens;
        return isContextFull && knowsFullContext ? "model_context_window_exceeded" : "max_tokens";
      }
    }
  }
}

function toolUseId(id: string): string {
  return `toolu_${id.replace(/^call_/u, "")}`;
}
