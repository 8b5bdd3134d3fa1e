import { randomUUID } from "node:crypto";
import type { MessageEvent, MessageUsage } from "./event-types.ts";

type Counts = {
  readonly promptTokens: number;
  readonly cachedTokens: number;
  readonly outputTokens: number;
  readonly reasoningTokens: number;
};

export function usageOf({ promptTokens, cachedTokens, outputTokens, reasoningTokens }: Counts): MessageUsage {
  return {
    input_tokens: promptTokens - cachedTokens,
    cache_creation_input_tokens: 0,
    cache_creation: { ephemeral_5m_input_tokens: 0, ephemeral_1h_input_tokens: 0 },
    cache_read_input_tokens: cachedTokens,
    output_tokens: outputTokens,
    output_tokens_details: reasoningTokens === 0 ? null : { thinking_tokens: reasoningTokens },
    server_tool_use: null,
  };
}

/** The first events of every message. `model` is the name as it appears in the request. */
export function startMessage(model: string, usage: MessageUsage): readonly MessageEvent[] {
  const message = {
    id: `msg_${randomUUID().replaceAll("-", "")}`,
    type: "message",
    role: "assistant",
    model,
    content: [],
    stop_reason: null,
    stop_sequence: null,
    usage,
  } as const;
  return [{ type: "message_start", message }, { type: "ping" }];
}
