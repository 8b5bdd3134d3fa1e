import type { JsonObject } from "@hearth-and-keep/engine";

export type StopReason =
  | "end_turn"
  | "max_tokens"
  | "stop_sequence"
  | "tool_use"
  | "model_context_window_exceeded";

/** All tokens of a prompt are those read now, those found in the cache, and none that were put there for a price. */
export type MessageUsage = {
  readonly input_tokens: number;
  readonly cache_creation_input_tokens: 0;
  readonly cache_read_input_tokens: number;
  readonly output_tokens: number;
  readonly output_tokens_details?: { readonly thinking_tokens: number };
};

export type ContentBlock =
  | { readonly type: "thinking"; readonly thinking: string; readonly signature: string }
  | { readonly type: "text"; readonly text: string }
  | { readonly type: "tool_use"; readonly id: string; readonly name: string; readonly input: JsonObject };

export type WireMessage = {
  readonly id: string;
  readonly type: "message";
  readonly role: "assistant";
  readonly model: string;
  readonly content: readonly ContentBlock[];
  readonly stop_reason: StopReason | null;
  readonly stop_sequence: string | null;
  readonly usage: MessageUsage;
};

type BlockDelta =
  | { readonly type: "thinking_delta"; readonly thinking: string }
  | { readonly type: "signature_delta"; readonly signature: string }
  | { readonly type: "text_delta"; readonly text: string }
  | { readonly type: "input_json_delta"; readonly partial_json: string };

/** In a stream: one start, a ping, blocks one after the other, one `message_delta`, one `message_stop`. */
export type MessageEvent =
  | { readonly type: "message_start"; readonly message: WireMessage }
  | { readonly type: "ping" }
  | { readonly type: "content_block_start"; readonly index: number; readonly content_block: ContentBlock }
  | { readonly type: "content_block_delta"; readonly index: number; readonly delta: BlockDelta }
  | { readonly type: "content_block_stop"; readonly index: number }
  | {
      readonly type: "message_delta";
      readonly delta: { readonly stop_reason: StopReason; readonly stop_sequence: string | null };
      readonly usage: MessageUsage;
    }
  | { readonly type: "message_stop" };

export function frame(event: { readonly type: string }): string {
  return `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`;
}
