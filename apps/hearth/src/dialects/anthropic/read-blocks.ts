import type { Image, JsonObject, ToolCall } from "@hearth-and-keep/engine";
import { requestFailure } from "../../failures.ts";
import { type ImagesByPlace, imageAt } from "../../images/read-images.ts";
import { readDocument } from "./read-document.ts";
import type { Block, ToolResultBlock } from "./schema.ts";

/** What one message says, sorted by what it is. */
export type ReadBlocks = {
  readonly texts: readonly string[];
  readonly images: readonly Image[];
  readonly thoughts: readonly string[];
  readonly toolCalls: readonly ToolCall[];
  readonly toolResults: readonly ToolResult[];
  /** Blocks of kinds that we do not know. */
  readonly skipped: number;
};

type ToolResult = { readonly toolCallId: string; readonly content: string };

type Sorted = {
  -readonly [Name in keyof ReadBlocks]: ReadBlocks[Name] extends readonly (infer Item)[] ? Item[] : number;
};

type BlockParts = { readonly place: string; readonly images: ImagesByPlace };

export function readBlocks(content: string | readonly Block[], { place, images }: BlockParts): ReadBlocks {
  const sorted: Sorted = { texts: [], images: [], thoughts: [], toolCalls: [], toolResults: [], skipped: 0 };
  if (typeof content === "string") sorted.texts.push(content);
  else {
    for (const [index, block] of content.entries()) {
      sortBlock(block, sorted, { place: `${place}.${index}`, images });
    }
  }
  return sorted;
}

function sortBlock(block: Block, sorted: Sorted, parts: BlockParts): void {
  const { place, images } = parts;
  switch (block.type) {
    case "text":
      sorted.texts.push(block.text);
      return;
    case "image":
      sorted.images.push(imageAt(images, place));
      return;
    case "document":
      sorted.texts.push(readDocument(block, place));
      return;
    case "search_result":
      sorted.texts.push([block.title, block.source, ...block.content.map(({ text }) => text)].join("\n"));
      return;
    case "thinking":
      sorted.thoughts.push(block.thinking);
      return;
    case "redacted_thinking":
      return;
    case "tool_use":
      sorted.toolCalls.push({ id: block.id, name: block.name, arguments: readInput(block.input, place) });
      return;
    case "tool_result":
      sortResult(block, sorted, parts);
      return;
    case "*":
    default:
      sorted.skipped += 1;
  }
}

/** A result is a text for the model; images in it are shown beside it. */
function sortResult(block: ToolResultBlock, sorted: Sorted, parts: BlockParts): void {
  const inside = { ...parts, place: `${parts.place}.content` };
  const { texts, images, skipped } = readBlocks(block.content ?? "", inside);
  const text = joinTexts(texts);
  const content = block.is_error === true ? `Error: ${text}` : text;
  sorted.toolResults.push({ toolCallId: block.tool_use_id, content });
  sorted.images.push(...images);
  sorted.skipped += skipped;
}

export function joinTexts(texts: readonly string[]): string {
  return texts.filter((text) => text !== "").join("\n\n");
}

/** Some clients send what a call was given as text, or leave an empty one out. */
function readInput(input: unknown, place: string): JsonObject {
  if (input === undefined || input === null || input === "") return {};
  const value = typeof input === "string" ? parse(input) : input;
  if (isObject(value)) return value;
  throw requestFailure({ kind: "request-invalid", place: `${place}.input`, reason: "must be object" });
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function isObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
