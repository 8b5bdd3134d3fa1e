import type { JsonObject } from "@hearth-and-keep/engine";
import { isJsonObject } from "@hearth-and-keep/engine";
import type { ContentBlock, MessageEvent, WireMessage } from "./event-types.ts";

/** Accumulates the stream events into one message, the way the official clients do. */
export async function writeResponse(batches: AsyncIterable<readonly MessageEvent[]>): Promise<WireMessage> {
  const blocks: OpenBlock[] = [];
  let message: WireMessage | undefined;
  for await (const events of batches) {
    for (const event of events) {
      if (event.type === "message_start") message = event.message;
      if (event.type === "content_block_start")
        blocks.push({ block: event.content_block, text: "", signature: "" });
      if (event.type === "content_block_delta") addDelta(blocks.at(-1), event.delta);
      if (event.type === "message_delta" && message !== undefined) {
        message = { ...message, ...event.delta, usage: event.usage };
      }
    }
  }
  if (message === undefined) throw new Error("The generation ended without a message_start event");
  const isTruncated = message.stop_reason !== "tool_use" && message.stop_reason !== "end_turn";
  return { ...message, content: blocks.flatMap((open) => finishBlock(open, isTruncated)) };
}

type OpenBlock = { readonly block: ContentBlock; text: string; signature: string };

function addDelta(
  open: OpenBlock | undefined,
  delta: Extract<MessageEvent, { type: "content_block_delta" }>["delta"],
): void {
  if (open === undefined) return;
  switch (delta.type) {
    case "thinking_delta":
      open.text += delta.thinking;
      return;
    case "signature_delta":
      open.signature = delta.signature;
      return;
    case "text_delta":
      open.text += delta.text;
      return;
    case "input_json_delta":
      open.text += delta.partial_json;
  }
}

/** An incomplete tool call is dropped when the output was truncated; malformed input becomes a text block. */
function finishBlock({ block, text, signature }: OpenBlock, isTruncated: boolean): readonly ContentBlock[] {
  switch (block.type) {
    case "thinking":
      return [{ ...block, thinking: text, signature }];
    case "text":
      return [{ ...block, text }];
    case "tool_use": {
      const input = text === "" && !isTruncated ? {} : parseObject(text);
      if (input !== undefined) return [{ ...block, input }];
      return isTruncated ? [] : [{ type: "text", text }];
    }
    case "server_tool_use":
    case "mcp_tool_use":
    case "mcp_tool_result":
    case "web_search_tool_result":
    case "web_fetch_tool_result":
    case "code_execution_tool_result":
    case "tool_search_tool_result":
    case "advisor_tool_result":
      return [block];
  }
}

function parseObject(text: string): JsonObject | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return isJsonObject(value) ? value : undefined;
  } catch {
    return undefined;
  }
}
