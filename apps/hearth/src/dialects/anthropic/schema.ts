import type { JsonObject } from "@hearth-and-keep/engine";
import { type Static, type TSchema, Type } from "typebox";

/** The limit on request bodies, so the body limit is always reached first. */
const longText = { maxLength: 67_108_864 };
const shortText = { maxLength: 4096 };
const messageLimit = { maxItems: 100_000 };
const blockLimit = { maxItems: 10_000 };
const tokenCount = { minimum: 1, maximum: 100_000_000 };
const stopText = { maxLength: 1024 };
const stopList = { maxItems: 64 };

const orNull = <Schema extends TSchema>(schema: Schema) => Type.Optional(Type.Union([schema, Type.Null()]));

/** Any type not listed. Its static type is a value that no client sends, so that a switch can distinguish it. */
function otherThan(kinds: readonly string[]) {
  return Type.Object({
    // Typed as one value although it accepts many: see above.
    type: Type.Unsafe<"*">(Type.String({ maxLength: 256, pattern: `^(?!(?:${kinds.join("|")})$)` })),
  });
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
  content: Type.Array(textBlock, blockLimit),
});

const contentBlocks = [textBlock, imageBlock, documentBlock, searchResultBlock] as const;
const contentTypes = ["text", "image", "document", "search_result"];

const toolResultBlock = Type.Object({
  type: Type.Literal("tool_result"),
  tool_use_id: Type.String(shortText),
  content: orNull(
    Type.Union([
      Type.String(longText),
      Type.Array(Type.Union([...contentBlocks, otherThan(contentTypes)]), blockLimit),
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

const block = Type.Union([
  ...contentBlocks,
  toolResultBlock,
  toolUseBlock,
  thinkingBlock,
  redactedBlock,
  otherThan([...contentTypes, "tool_result", "tool_use", "thinking", "redacted_thinking"]),
]);

const message = Type.Object({
  role: Type.Union([Type.Literal("user"), Type.Literal("assistant"), Type.Literal("system")]),
  content: Type.Union([Type.String(longText), Type.Array(block, blockLimit)]),
});

// A JSON Schema, passed on unchanged because chat templates print it.
const jsonObject = Type.Unsafe<JsonObject>(Type.Object({}));

const customTool = Type.Object({
  type: orNull(Type.Literal("custom")),
  name: Type.String({ minLength: 1, maxLength: 256 }),
  description: orNull(Type.String(longText)),
  input_schema: jsonObject,
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
  system: orNull(Type.Union([Type.String(longText), Type.Array(textBlock, blockLimit)])),
  tools: orNull(Type.Array(Type.Union([customTool, otherThan(["custom"])]), { maxItems: 1024 })),
  tool_choice: orNull(toolChoice),
  thinking: orNull(
    Type.Object({
      type: Type.Union([Type.Literal("enabled"), Type.Literal("disabled"), Type.Literal("adaptive")]),
      display: orNull(Type.String(shortText)),
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
export type ToolResultBlock = Static<typeof toolResultBlock>;
