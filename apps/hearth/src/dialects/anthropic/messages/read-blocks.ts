import { parseBoundedJson } from "@hearth-and-keep/bounded-json";
import type { Image, JsonObject, ToolCall } from "@hearth-and-keep/engine";
import { isJsonObject } from "@hearth-and-keep/engine";
import { invalidField } from "../../../failures.ts";
import { type ImagesByField, maxImages } from "../../../images/read-images.ts";
import type { Block, DocumentBlock, SearchResultBlock, ToolResultBlock } from "../schema.ts";
import { describeServerCall, describeServerResult, isServerToolResult } from "./describe-server-tools.ts";
import { readDocument, unreadableDocument } from "./read-document.ts";
import type { PdfTexts } from "./read-pdfs.ts";
import { applyAddition, applyReference, applyRemoval } from "./tool-changes.ts";
import type { Toolset } from "./toolset.ts";

/** The content of one message, grouped by block type. */
export type ReadBlocks = {
  readonly texts: readonly string[];
  readonly images: readonly Image[];
  readonly thinking: readonly string[];
  readonly toolCalls: readonly ToolCall[];
  readonly toolResults: readonly ToolResult[];
  /** For the model, a sentence for each tool that was added or removed. */
  readonly toolChanges: readonly string[];
  /** The types of blocks that the model does not see: unknown, or replaced by a sentence. */
  readonly skipped: readonly string[];
};

/** What a request contains besides text, read beforehand. */
export type Attachments = {
  /** Undefined if the model cannot see images. */
  readonly images: ImagesByField | undefined;
  readonly pdfTexts: PdfTexts;
};

type ToolResult = { readonly toolCallId: string; readonly content: string };

type MutableBlocks = {
  readonly [Name in keyof ReadBlocks]: ReadBlocks[Name][number][];
};

type BlockContext = Attachments & { readonly field: string; readonly toolset: Toolset };

/** Stands in for an image, also in the history that a client sends again and again. */
const unseenImage = "[There is an image here, but this model cannot see images.]";
/** Stands in for an image that `imageSources` left out. */
const omittedImage = `[There was an image here; only the newest are shown, at most ${maxImages}.]`;

export function readBlocks(content: string | readonly Block[], context: BlockContext): ReadBlocks {
  const blocks: MutableBlocks = {
    texts: [],
    images: [],
    thinking: [],
    toolCalls: [],
    toolResults: [],
    toolChanges: [],
    skipped: [],
  };
  if (typeof content === "string") blocks.texts.push(content);
  else {
    for (const [index, block] of content.entries()) {
      addBlock(block, blocks, { ...context, field: `${context.field}.${index}` });
    }
  }
  return blocks;
}

function addBlock(block: Block, blocks: MutableBlocks, context: BlockContext): void {
  const { field } = context;
  if (isServerToolResult(block)) return addLine(describeServerResult(block), blocks);
  switch (block.type) {
    case "text":
      blocks.texts.push(block.text);
      return;
    case "image":
      addImage(blocks, context);
      return;
    case "document":
      addDocument(block, blocks, context);
      return;
    case "search_result":
      addSearchResult(block, blocks, context);
      return;
    case "thinking":
      blocks.thinking.push(block.thinking);
      return;
    case "tool_use":
      blocks.toolCalls.push({ id: block.id, name: block.name, arguments: readInput(block.input, field) });
      return;
    case "tool_result":
      addToolResult(block, blocks, context);
      return;
    case "tool_reference":
      addReference(block.tool_name, blocks, context);
      return;
    case "tool_addition":
      addToolChange(block.type, applyAddition(block, context.toolset), blocks);
      return;
    case "tool_removal":
      addToolChange(block.type, applyRemoval(block, context.toolset), blocks);
      return;
    case "server_tool_use":
    case "mcp_tool_use":
      addLine(describeServerCall(block), blocks);
      return;
    case "redacted_thinking":
    case "*":
    default:
      blocks.skipped.push(block.type);
  }
}

/** A line of its own, although the texts of an assistant's turn are joined without a separator. */
function addLine(line: string, { texts }: MutableBlocks): void {
  const isAtStart = texts.at(-1)?.endsWith("\n") ?? true;
  texts.push(`${isAtStart ? "" : "\n"}${line}\n`);
}

function addImage(blocks: MutableBlocks, { field, images }: BlockContext): void {
  const image = images?.get(field);
  if (image !== undefined) blocks.images.push(image);
  else {
    blocks.texts.push(images === undefined ? unseenImage : omittedImage);
    blocks.skipped.push("image");
  }
}

/** A document is text for the model, with its title and context first. */
function addDocument(
  { title, context: note, source }: DocumentBlock,
  blocks: MutableBlocks,
  context: BlockContext,
): void {
  const add = (text: string): void => {
    const lines = [title, note, text].filter((line) => typeof line === "string" && line !== "");
    blocks.texts.push(lines.join("\n"));
  };
  if (source.type === "content") {
    const inside = readBlocks(source.content, { ...context, field: `${context.field}.source.content` });
    add(inside.texts.join("\n"));
    blocks.images.push(...inside.images);
    blocks.skipped.push(...inside.skipped);
    return;
  }
  const text = readDocument(source, context.field, context.pdfTexts);
  add(text ?? unreadableDocument(source));
  if (text === undefined) blocks.skipped.push("document");
}

function addSearchResult(
  { title, source, content }: SearchResultBlock,
  blocks: MutableBlocks,
  context: BlockContext,
): void {
  const { texts, skipped } = readBlocks(content, context);
  blocks.texts.push([title, source, ...texts].join("\n"));
  blocks.skipped.push(...skipped);
}

/** A tool result is text for the model; its images are attached to the same turn. */
function addToolResult(block: ToolResultBlock, blocks: MutableBlocks, context: BlockContext): void {
  const inside = { ...context, field: `${context.field}.content` };
  const { texts, images, skipped } = readBlocks(block.content ?? "", inside);
  const text = joinTexts(texts);
  const content = block.is_error === true ? `Error: ${text}` : text;
  blocks.toolResults.push({ toolCallId: block.tool_use_id, content });
  blocks.images.push(...images);
  blocks.skipped.push(...skipped);
}

function addReference(name: string, blocks: MutableBlocks, { toolset }: BlockContext): void {
  const definition = applyReference(name, toolset);
  blocks.texts.push(definition ?? `[There is no tool "${name}".]`);
  if (definition === undefined) blocks.skipped.push("tool_reference");
}

function addToolChange(type: string, change: string | undefined, blocks: MutableBlocks): void {
  if (change === undefined) blocks.skipped.push(type);
  else blocks.toolChanges.push(change);
}

export function joinTexts(texts: readonly string[]): string {
  return texts.filter((text) => text !== "").join("\n\n");
}

/** Some clients send the input as JSON text, or omit it when it is empty. */
function readInput(input: unknown, field: string): JsonObject {
  if (input === undefined || input === null || input === "") return {};
  const value = typeof input === "string" ? parseBoundedJson(input) : input;
  if (isJsonObject(value)) return value;
  throw invalidField(`${field}.input`, "must be an object");
}
