import { type Static, type TSchema, Type } from "typebox";
import { effortLevels } from "./reasoning-effort.ts";

export type ChatCompletionsBody = Static<typeof chatCompletionsRequest>;
export type WireMessage = ChatCompletionsBody["messages"][number];
export type WirePart = Static<typeof contentPart>;
export type WireTool = Static<typeof tool>;
export type WireSettings = Static<typeof settings>;
export type CompletionsBody = Static<typeof completionsRequest>;
export type RerankBody = Static<typeof rerankRequest>;
export type CreateEmbeddingsBody = Static<typeof createEmbeddingsRequest>;

/** The limit on request bodies, so the body limit is always reached first. */
const maxTextLength = 64 * 1024 * 1024;
const maxNameLength = 1024;
const maxListLength = 65_536;

/** Clients send null for fields they leave out. */
function orNull<Schema extends TSchema>(schema: Schema) {
  return Type.Optional(Type.Union([schema, Type.Null()]));
}

const name = Type.String({ minLength: 1, maxLength: maxNameLength });
const text = Type.String({ maxLength: maxTextLength });
const shortText = Type.String({ maxLength: maxNameLength });
const jsonObject = Type.Record(
  shortText,
  // A JSON Schema or template variables, passed on unchanged.
  Type.Unknown(),
  { maxProperties: 4096 },
);
const tokenCount = Type.Integer({ minimum: -2, maximum: 100_000_000 });
const share = Type.Number({ minimum: 0, maximum: 1 });
const additivePenalty = Type.Number({ minimum: -2, maximum: 2 });
const stop = Type.Union([shortText, Type.Array(shortText, { maxItems: 64 })]);
const choiceCount = Type.Integer({ minimum: 1, maximum: 128 });

/** Ollama's names for the same settings, which clients also send to this API. */
const options = Type.Object({
  num_ctx: orNull(Type.Integer({ minimum: 0, maximum: 100_000_000 })),
  num_predict: orNull(tokenCount),
  temperature: orNull(Type.Number({ minimum: 0, maximum: 100 })),
  top_p: orNull(share),
  top_k: orNull(Type.Integer({ minimum: -1, maximum: 1_000_000 })),
  min_p: orNull(share),
  typical_p: orNull(share),
  repeat_penalty: orNull(Type.Number({ minimum: 0, maximum: 10 })),
  repeat_last_n: orNull(Type.Integer({ minimum: -1, maximum: 1_000_000 })),
  frequency_penalty: orNull(additivePenalty),
  presence_penalty: orNull(additivePenalty),
  seed: orNull(Type.Integer({ minimum: Number.MIN_SAFE_INTEGER, maximum: Number.MAX_SAFE_INTEGER })),
  stop: orNull(stop),
});

/** Settings shared by completions and chat completions. */
const settings = Type.Object({
  ...Type.Omit(options, ["num_ctx", "num_predict"]).properties,
  options: orNull(options),
  max_tokens: orNull(tokenCount),
  logit_bias: orNull(
    Type.Record(shortText, Type.Number({ minimum: -100, maximum: 100 }), { maxProperties: 1024 }),
  ),
  n: orNull(choiceCount),
  stream: orNull(Type.Boolean()),
  stream_options: orNull(Type.Object({ include_usage: orNull(Type.Boolean()) })),
  keep_alive: orNull(
    Type.Union([
      Type.Number({ minimum: -1_000_000_000_000, maximum: 1_000_000_000_000 }),
      Type.String({ maxLength: 64 }),
    ]),
  ),
});

const contentPart = Type.Object({
  type: shortText,
  text: orNull(text),
  refusal: orNull(text),
  image_url: orNull(Type.Union([Type.Object({ url: text }), text])),
  input_audio: orNull(Type.Object({ data: text, format: orNull(shortText) })),
  file: orNull(Type.Object({ file_data: orNull(text), filename: orNull(shortText) })),
});

const calledFunction = Type.Object({ name, arguments: orNull(Type.Union([text, jsonObject])) });

const toolCall = Type.Object({ id: orNull(shortText), function: calledFunction });

const message = Type.Object({
  role: shortText,
  content: orNull(Type.Union([text, Type.Array(contentPart, { maxItems: maxListLength })])),
  name: orNull(shortText),
  reasoning: orNull(text),
  reasoning_content: orNull(text),
  thinking: orNull(text),
  refusal: orNull(text),
  tool_calls: orNull(Type.Array(toolCall, { maxItems: 1024 })),
  /** The only call of a message from before there were tools. */
  function_call: orNull(calledFunction),
  tool_call_id: orNull(shortText),
});

const tool = Type.Object({
  type: Type.Optional(shortText),
  function: Type.Optional(
    Type.Object({
      name,
      description: orNull(text),
      parameters: orNull(jsonObject),
      strict: orNull(Type.Boolean()),
    }),
  ),
});

const namedFunction = Type.Object({ name });
const toolChoice = Type.Union([
  Type.Enum(["auto", "none", "required"]),
  Type.Object({ type: Type.Literal("function"), function: namedFunction }),
  Type.Object({
    type: Type.Literal("allowed_tools"),
    allowed_tools: Type.Object({
      mode: Type.Enum(["auto", "required"]),
      tools: Type.Array(Type.Object({ function: namedFunction }), { maxItems: 1024 }),
    }),
  }),
]);

const responseFormat = Type.Union([
  Type.Object({ type: Type.Literal("text") }),
  Type.Object({ type: Type.Literal("json_object"), schema: orNull(jsonObject) }),
  Type.Object({
    type: Type.Literal("json_schema"),
    json_schema: Type.Object({ schema: orNull(jsonObject), strict: orNull(Type.Boolean()) }),
  }),
]);

const effort = Type.Enum(effortLevels);

export const chatCompletionsRequest = Type.Object({
  model: name,
  messages: Type.Array(message, { minItems: 1, maxItems: maxListLength }),
  ...settings.properties,
  max_completion_tokens: orNull(tokenCount),
  tools: orNull(Type.Array(tool, { maxItems: 1024 })),
  tool_choice: orNull(toolChoice),
  parallel_tool_calls: orNull(Type.Boolean()),
  response_format: orNull(responseFormat),
  logprobs: orNull(Type.Boolean()),
  top_logprobs: orNull(Type.Integer({ minimum: 0, maximum: 20 })),
  reasoning_effort: orNull(effort),
  reasoning: orNull(Type.Object({ effort: orNull(effort) })),
  think: orNull(Type.Union([Type.Boolean(), effort])),
  chat_template_kwargs: orNull(jsonObject),
  modalities: orNull(Type.Array(shortText, { maxItems: 16 })),
  // Declared only to be rejected when present.
  audio: Type.Optional(Type.Unknown()),
  // As above.
  web_search_options: Type.Optional(Type.Unknown()),
  // As above.
  functions: Type.Optional(Type.Unknown()),
});

const tokens = Type.Array(Type.Integer({ minimum: 0, maximum: 2 ** 31 }), {
  minItems: 1,
  maxItems: maxListLength,
});
/** Token ids pass the schema so that they can be rejected with a helpful message. */
const texts = Type.Union([
  text,
  Type.Array(text, { minItems: 1, maxItems: maxListLength }),
  tokens,
  Type.Array(tokens, { minItems: 1, maxItems: maxListLength }),
]);

export const completionsRequest = Type.Object({
  model: name,
  prompt: orNull(texts),
  suffix: orNull(text),
  echo: orNull(Type.Boolean()),
  best_of: orNull(choiceCount),
  logprobs: orNull(Type.Integer({ minimum: 0, maximum: 20 })),
  ...settings.properties,
});

export const createEmbeddingsRequest = Type.Object({
  model: name,
  input: texts,
  encoding_format: orNull(Type.Enum(["float", "base64"])),
  dimensions: orNull(Type.Integer({ minimum: 1, maximum: 1_000_000 })),
  options: orNull(Type.Pick(options, ["num_ctx"])),
  keep_alive: settings.properties.keep_alive,
});

export const rerankRequest = Type.Object({
  model: name,
  query: text,
  documents: Type.Array(Type.Union([text, Type.Object({ text })]), { minItems: 1, maxItems: 1000 }),
  top_n: orNull(Type.Integer({ minimum: 1, maximum: 1000 })),
  return_documents: orNull(Type.Boolean()),
  keep_alive: settings.properties.keep_alive,
});
