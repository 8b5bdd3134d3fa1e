import { isJsonObject } from "@hearth-and-keep/engine";
import type { Block, ServerToolResultBlock, ServerToolUseBlock } from "../schema.ts";

/** Compares the end, because each server tool has its own type of result. */
export function isServerToolResult(block: Block): block is ServerToolResultBlock {
  return block.type.endsWith("_tool_result");
}

/** A call that one of Anthropic's servers made earlier in the conversation, as a line of text. */
export function describeServerCall({ name = "a tool", input }: ServerToolUseBlock): string {
  return `[Called ${name} with ${printCompact(input ?? {})}]`;
}

/** Its result, as a line of text. */
export function describeServerResult({ type, content }: ServerToolResultBlock): string {
  const name = type.replace(/_tool_result$/u, "");
  if (isJsonObject(content) && typeof content["error_code"] === "string") {
    return `[${name} failed: ${content["error_code"]}]`;
  }
  return `[${name} returned ${printCompact(content ?? null)}]`;
}

/** Without what the model cannot read: encrypted text and base64, which are also long. */
function printCompact(value: unknown): string {
  return JSON.stringify(value, function omitUnreadable(this: unknown, key: string, item: unknown) {
    const isBase64 = key === "data" && isJsonObject(this) && this["type"] === "base64";
    return isBase64 || key.startsWith("encrypted_") || key === "cache_control" ? undefined : item;
  });
}
