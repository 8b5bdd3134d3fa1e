import { parseBoundedJson } from "@hearth-and-keep/bounded-json";
import type { Image, JsonObject, ToolCall } from "@hearth-and-keep/engine";
import { invalidField } from "../../../failures.ts";
import { type ImagesByField, imageAt } from "../../../images/read-images.ts";
import type { Block, ToolResultBlock } from "../schema.ts";
import { readDocument } from "./read-document.ts";

/** The content of one message, grouped by block type. */
export type ReadBlocks = {
  readonly texts: readonly string[];
  readonly images: readonly Image[];
  readonly thinking: readonly string[];
  readonly toolCalls: readonly ToolCall[];
  readonly toolResults: readonly ToolResult[];
  /** How many blocks have an unknown type. */
  readonly skipped: number;
};

type ToolResult = { readonly toolCallId: string; readonly content: string };

type MutableBlocks = {
  -readonly [Name in keyof ReadBlocks]: ReadBlocks[Name] extends readonly (infer Item)[] ? Item[] : number;
};

type BlockContext = { readonly field: string; readonly images: ImagesByField };

export function readBlocks(content: string | readonly Block[], { field, images }: BlockContext): ReadBlocks {
  const blocks: MutableBlocks = {
    texts: [],
    images: [],
    thinking: [],
    toolCalls: [],
    toolResults: [],
    skipped: 0,
  };
  if (typeof content === "string") blocks.texts.push(content);
  else {
    for (const [index, block] of content.entries()) {
      addBlock(block, blocks, { field: `${field}.${index}`, images });
    }
  }
  return blocks;
}

function addBlock(block: Block, blocks: MutableBlocks, context: BlockContext): void {
  const { field, images } = context;
  switch (block.type) {
    case "text":
      blocks.texts.push(block.text);
      return;
    case "image":
      blocks.images.push(imageAt(images, field));
      return;
    case "document":
      blocks.texts.push(readDocument(block, field));
      return;
    case "search_result":
      blocks.texts.push([block.title, block.source, ...block.content.map(({ text }) => text)].join("\n"));
      return;
    case "thinking":
      blocks.thinking.push(block.thinking);
      return;
    case "redacted_thinking":
      return;
    case "tool_use":
      blocks.toolCalls.push({ id: block.id, name: block.name, arguments: readInput(block.input, field) });
      return;
    case "tool_result":
      addToolResult(block, blocks, context);
      return;
    case "*":
    default:
      blocks.skipped += 1;
  }
}

/** A tool result is text for the model; its images are attached to the same turn. */
function addToolResult(block: ToolResultBlock, blocks: MutableBlocks, context: BlockContext): void {
  const inside = { ...context, field: `${context.field}.content` };
  const { texts, images, skipped } = readBlocks(block.content ?? "", inside);
  const text = joinTexts(texts);
  const content = block.is_error === true ? `Error: ${text}` : text;
  blocks.toolResults.push({ toolCallId: block.tool_use_id, content });
  blocks.images.push(...images);
  blocks.skipped += skipped;
}

export function joinTexts(texts: readonly string[]): string {
  return texts.filter((text) => text !== "").join("\n\n");
}

/** Some clients send the input as JSON text, or omit it when it is empty. */
function readInput(input: unknown, field: string): JsonObject {
  if (input === undefined || input === null || input === "") return {};
  const value = typeof input === "string" ? parseBoundedJson(input) : input;
  if (isObject(value)) return value;
  throw invalidField(`${field}.input`, "must be an object");
}

function isObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
