import type { JsonObject } from "@hearth-and-keep/engine";

export type StopReason =
  | "end_turn"
  | "max_tokens"
  | "stop_sequence"
  | "tool_use"
  | "model_context_window_exceeded";

/** Prompt tokens are those evaluated plus those read from the cache. Cache writes are free, so none are reported. */
export type MessageUsage = {
  readonly input_tokens: number;
  readonly cache_creation_input_tokens: 0;
  readonly cache_creation: {
    readonly ephemeral_5m_input_tokens: 0;
    readonly ephemeral_1h_input_tokens: 0;
  };
  readonly cache_read_input_tokens: number;
  readonly output_tokens: number;
  /** Null if the model did not think. */
  readonly output_tokens_details: { readonly thinking_tokens: number } | null;
  /** Hearth runs no server tools. */
  readonly server_tool_use: null;
};

export type ContentBlock =
  | { readonly type: "thinking"; readonly thinking: string; readonly signature: string }
  | { readonly type: "text"; readonly text: string }
  | { readonly type: "tool_use"; readonly id: string; readonly name: string; readonly input: JsonObject }
  | ServerToolBlock;

export type ServerResultType =
  | "web_search_tool_result"
  | "web_fetch_tool_result"
  | "code_execution_tool_result"
  | "tool_search_tool_result"
  | "advisor_tool_result";

/** Complete from the start: these have no deltas. */
type ServerToolBlock =
  | {
      readonly type: "server_tool_use";
      readonly id: string;
      readonly name: string;
      readonly input: JsonObject;
      readonly caller: DirectCaller;
    }
  | {
      readonly type: ServerResultType;
      readonly tool_use_id: string;
      readonly content: {
        readonly type: `${ServerResultType}_error`;
        readonly error_code: "unavailable";
        readonly error_message?: null;
      };
      readonly caller?: DirectCaller;
    }
  | {
      readonly type: "mcp_tool_use";
      readonly id: string;
      readonly name: string;
      readonly server_name: string;
      readonly input: JsonObject;
    }
  | {
      readonly type: "mcp_tool_result";
      readonly tool_use_id: string;
      readonly is_error: true;
      readonly content: readonly [{ readonly type: "text"; readonly text: string }];
    };

type DirectCaller = { readonly type: "direct" };

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

/** Order in a stream: `message_start`, `ping`, the content blocks one by one, `message_delta`, `message_stop`. */
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
