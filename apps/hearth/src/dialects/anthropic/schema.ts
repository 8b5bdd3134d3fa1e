import type { JsonObject } from "@hearth-and-keep/engine";
import { type Static, type TSchema, Type } from "typebox";

/** The limit on request bodies, so the body limit is always reached first. */
const longText = { maxLength: 67_108_864 };
const shortText = { maxLength: 4096 };
const messageLimit = { maxItems: 100_000 };
const blockLimit = { maxItems: 10_000 };
const tokenCount = { minimum: 0, maximum: 100_000_000 };
const pixelCount = { minimum: 0, maximum: 1_000_000 };
const stopText = { maxLength: 1024 };
const stopList = { maxItems: 64 };

const orNull = <Schema extends TSchema>(schema: Schema) => Type.Optional(Type.Union([schema, Type.Null()]));

/** Any type not listed. Its static type is a value that no client sends, so that a switch can distinguish it. */
function typeOtherThan(kinds: readonly string[]) {
  // Typed as one value although it accepts many: see above.
  return Type.Unsafe<"*">(Type.String({ maxLength: 256, pattern: `^(?!(?:${kinds.join("|")})$)` }));
}

function otherThan(kinds: readonly string[]) {
  return Type.Object({ type: typeOtherThan(kinds) });
}

const base64Source = Type.Object({
  type: Type.Literal("base64"),
  media_type: Type.String(shortText),
  data: Type.String(longText),
});

const textBlock = Type.Object({ type: Type.Literal("text"), text: Type.String(longText) });

const urlSource = Type.Object({ type: Type.Literal("url"), url: Type.String(longText) });

const imageBlock = Type.Object({
  type: Type.Literal("image"),
  source: Type.Union([base64Source, urlSource, otherThan(["base64", "url"])]),
});

const plainSource = Type.Object({ type: Type.Literal("text"), data: Type.String(longText) });

const contentSource = Type.Object({
  type: Type.Literal("content"),
  content: Type.Union([
    Type.String(longText),
    Type.Array(Type.Union([textBlock, imageBlock, otherThan(["text", "image"])]), blockLimit),
  ]),
});

const documentBlock = Type.Object({
  type: Type.Literal("document"),
  title: orNull(Type.String(longText)),
  context: orNull(Type.String(longText)),
  source: Type.Union([base64Source, plainSource, contentSource, otherThan(["base64", "text", "content"])]),
});

const searchResultBlock = Type.Object({
  type: Type.Literal("search_result"),
  title: Type.String(longText),
  source: Type.String(longText),
  content: Type.Array(Type.Union([textBlock, otherThan(["text"])]), blockLimit),
});

const contentBlocks = [textBlock, imageBlock, documentBlock, searchResultBlock] as const;
const contentTypes = ["text", "image", "document", "search_result"];

const toolReferenceBlock = Type.Object({
  type: Type.Literal("tool_reference"),
  tool_name: Type.String(shortText),
});

const toolResultBlock = Type.Object({
  type: Type.Literal("tool_result"),
  tool_use_id: Type.String(shortText),
  content: orNull(
    Type.Union([
      Type.String(longText),
      Type.Array(
        Type.Union([...contentBlocks, toolReferenceBlock, otherThan([...contentTypes, "tool_reference"])]),
        blockLimit,
      ),
    ]),
  ),
  is_error: orNull(Type.Boolean()),
});

const toolUseBlock = Type.Object({
  type: Type.Literal("tool_use"),
  id: Type.String(shortText),
  name: Type.String(shortText),
  // An object; some clients send it as JSON text or omit it. Checked in read-blocks.ts.
  input: Type.Optional(Type.Unknown()),
});

const thinkingBlock = Type.Object({ type: Type.Literal("thinking"), thinking: Type.String(longText) });
const redactedBlock = Type.Object({ type: Type.Literal("redacted_thinking") });

const serverToolUseBlock = Type.Object({
  type: Type.Union([Type.Literal("server_tool_use"), Type.Literal("mcp_tool_use")]),
  name: Type.Optional(Type.String(shortText)),
  // Printed, never read.
  input: Type.Optional(Type.Unknown()),
});

/** Each server tool has its own type of result. */
const serverToolResultBlock = Type.Object({
  // Typed as one value although it accepts many, like the types of `typeOtherThan`.
  type: Type.Unsafe<"*_tool_result">(Type.String({ maxLength: 256, pattern: "_tool_result$" })),
  // Printed, except for what is encrypted.
  content: Type.Optional(Type.Unknown()),
});

// A JSON Schema, passed on unchanged because chat templates print it.
const jsonObject = Type.Unsafe<JsonObject>(Type.Object({}));

const customTool = Type.Object({
  type: orNull(Type.Literal("custom")),
  name: Type.String({ minLength: 1, maxLength: 256 }),
  description: orNull(Type.String(longText)),
  input_schema: jsonObject,
  input_examples: orNull(Type.Array(jsonObject, { maxItems: 256 })),
  defer_loading: orNull(Type.Boolean()),
  strict: orNull(Type.Boolean()),
});

/** One of Anthropic's own tools, which have no schema: run by its servers, or by the client. */
const typedTool = Type.Object({
  type: typeOtherThan(["custom"]),
  name: orNull(Type.String({ maxLength: 256 })),
  defer_loading: orNull(Type.Boolean()),
  /** Of an `mcp_toolset`. */
  mcp_server_name: orNull(Type.String(shortText)),
  // The next three belong to `computer_*`.
  display_width_px: orNull(Type.Integer(pixelCount)),
  display_height_px: orNull(Type.Integer(pixelCount)),
  enable_zoom: orNull(Type.Boolean()),
});

const anyTool = Type.Union([customTool, typedTool]);

const changedToolReference = Type.Object({
  type: Type.Literal("tool_reference"),
  name: Type.String(shortText),
});

const toolAdditionBlock = Type.Object({
  type: Type.Literal("tool_addition"),
  tool: Type.Union([
    changedToolReference,
    Type.Object({ type: Type.Literal("tool_definition"), definition: anyTool }),
    otherThan(["tool_reference", "tool_definition"]),
  ]),
});

const toolRemovalBlock = Type.Object({
  type: Type.Literal("tool_removal"),
  tool: Type.Union([changedToolReference, otherThan(["tool_reference"])]),
});

const block = Type.Union([
  ...contentBlocks,
  toolResultBlock,
  toolUseBlock,
  thinkingBlock,
  redactedBlock,
  serverToolUseBlock,
  serverToolResultBlock,
  toolReferenceBlock,
  toolAdditionBlock,
  toolRemovalBlock,
  otherThan([
    ...contentTypes,
    "tool_result",
    "tool_use",
    "thinking",
    "redacted_thinking",
    "server_tool_use",
    "mcp_tool_use",
    ".*_tool_result",
    "tool_reference",
    "tool_addition",
    "tool_removal",
  ]),
]);

const message = Type.Object({
  role: Type.Union([Type.Literal("user"), Type.Literal("assistant"), Type.Literal("system")]),
  // Optional in system messages only: checked in read-conversation.ts.
  content: Type.Optional(Type.Union([Type.String(longText), Type.Array(block, blockLimit)])),
  // The next two belong to system messages.
  clear_at: orNull(Type.String(shortText)),
  output_config: orNull(Type.Object({ effort: orNull(Type.String(shortText)) })),
});

const toolChoice = Type.Union([
  Type.Object({ type: Type.Literal("auto"), disable_parallel_tool_use: orNull(Type.Boolean()) }),
  Type.Object({ type: Type.Literal("any"), disable_parallel_tool_use: orNull(Type.Boolean()) }),
  Type.Object({
    type: Type.Literal("tool"),
    name: Type.String(shortText),
    disable_parallel_tool_use: orNull(Type.Boolean()),
  }),
  Type.Object({ type: Type.Literal("none") }),
]);

const outputFormat = Type.Object({ type: Type.Literal("json_schema"), schema: jsonObject });

const promptFields = {
  model: Type.String({ minLength: 1, maxLength: 1024 }),
  messages: Type.Array(message, { minItems: 1, ...messageLimit }),
  system: orNull(
    Type.Union([Type.String(longText), Type.Array(Type.Union([textBlock, otherThan(["text"])]), blockLimit)]),
  ),
  tools: orNull(Type.Array(anyTool, { maxItems: 1024 })),
  tool_choice: orNull(toolChoice),
  thinking: orNull(
    Type.Object({
      type: Type.Union([
        Type.Literal("enabled"),
        Type.Literal("disabled"),
        Type.Literal("adaptive"),
        Type.Literal("between_tools"),
      ]),
      display: orNull(Type.String(shortText)),
      budget_tokens: orNull(Type.Integer({ minimum: 1, maximum: 100_000_000 })),
    }),
  ),
  output_config: orNull(
    Type.Object({ effort: orNull(Type.String(shortText)), format: orNull(outputFormat) }),
  ),
  /** The name of `output_config.format` in older clients. */
  output_format: orNull(outputFormat),
};

export const countTokensRequest = Type.Object(promptFields);

export const messagesRequest = Type.Object({
  ...promptFields,
  /** 0 only evaluates the prompt, so that it is cached. */
  max_tokens: Type.Integer(tokenCount),
  stream: orNull(Type.Boolean()),
  temperature: orNull(Type.Number({ minimum: 0, maximum: 2 })),
  top_p: orNull(Type.Number({ minimum: 0, maximum: 1 })),
  top_k: orNull(Type.Integer({ minimum: -1, maximum: 1_000_000 })),
  stop_sequences: orNull(Type.Array(Type.String(stopText), stopList)),
  // The next three are not part of the Anthropic API; Hearth accepts them on all three APIs.
  stop: orNull(Type.Union([Type.String(stopText), Type.Array(Type.String(stopText), stopList)])),
  seed: orNull(Type.Integer({ minimum: -9_007_199_254_740_991, maximum: 9_007_199_254_740_991 })),
  frequency_penalty: orNull(Type.Number({ minimum: -2, maximum: 2 })),
});

export type CountTokensBody = Static<typeof countTokensRequest>;
export type MessagesBody = Static<typeof messagesRequest>;
export type Block = Static<typeof block>;
export type ImageBlock = Static<typeof imageBlock>;
export type DocumentBlock = Static<typeof documentBlock>;
export type SearchResultBlock = Static<typeof searchResultBlock>;
export type ToolAdditionBlock = Static<typeof toolAdditionBlock>;
export type ToolRemovalBlock = Static<typeof toolRemovalBlock>;
export type ServerToolUseBlock = Static<typeof serverToolUseBlock>;
export type ServerToolResultBlock = Static<typeof serverToolResultBlock>;
export type CustomTool = Static<typeof customTool>;
export type TypedTool = Static<typeof typedTool>;
export type ToolResultBlock = Static<typeof toolResultBlock>;
