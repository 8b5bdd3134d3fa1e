import { type Static, type TSchema, Type } from "typebox";

export type ChatCompletionsBody = Static<typeof chatCompletionsRequest>;
export type WireMessage = ChatCompletionsBody["messages"][number];
export type WirePart = Static<typeof contentPart>;
export type WireTool = Static<typeof tool>;
export type WireSettings = Static<typeof settings>;
export type CompletionsBody = Static<typeof completionsRequest>;
export type CreateEmbeddingsBody = Static<typeof createEmbeddingsRequest>;

/** A body has at most 64 MB, so no text in it is longer. */
const longestText = 64 * 1024 * 1024;
const longestName = 1024;
const mostItems = 65_536;

/** Clients send null for what they leave out. */
function maybe<Schema extends TSchema>(schema: Schema) {
  return Type.Optional(Type.Union([schema, Type.Null()]));
}

const name = Type.String({ minLength: 1, maxLength: longestName });
const text = Type.String({ maxLength: longestText });
const shortText = Type.String({ maxLength: longestName });
const jsonObject = Type.Record(
  shortText,
  // A JSON Schema, or a template's variables: passed on as they come.
  Type.Unknown(),
  { maxProperties: 4096 },
);
const tokenCount = Type.Integer({ minimum: -2, maximum: 100_000_000 });
const share = Type.Number({ minimum: 0, maximum: 1 });
const additivePenalty = Type.Number({ minimum: -2, maximum: 2 });
const stop = Type.Union([shortText, Type.Array(shortText, { maxItems: 64 })]);
const choiceCount = Type.Integer({ minimum: 1, maximum: 128 });

/** Names that the local-runner family has for the same things; people send them here too. */
const options = Type.Object({
  num_ctx: maybe(Type.Integer({ minimum: 0, maximum: 100_000_000 })),
  num_predict: maybe(tokenCount),
  temperature: maybe(Type.Number({ minimum: 0, maximum: 100 })),
  top_p: maybe(share),
  top_k: maybe(Type.Integer({ minimum: -1, maximum: 1_000_000 })),
  min_p: maybe(share),
  typical_p: maybe(share),
  repeat_penalty: maybe(Type.Number({ minimum: 0, maximum: 10 })),
  repeat_last_n: maybe(Type.Integer({ minimum: -1, maximum: 1_000_000 })),
  frequency_penalty: maybe(additivePenalty),
  presence_penalty: maybe(additivePenalty),
  seed: maybe(Type.Integer({ minimum: Number.MIN_SAFE_INTEGER, maximum: Number.MAX_SAFE_INTEGER })),
  stop: maybe(stop),
});

/** What can be said about an answer in both kinds of completions. */
const settings = Type.Object({
  ...Type.Omit(options, ["num_ctx", "num_predict"]).properties,
  options: maybe(options),
  max_tokens: maybe(tokenCount),
  logit_bias: maybe(
    Type.Record(shortText, Type.Number({ minimum: -100, maximum: 100 }), { maxProperties: 1024 }),
  ),
  n: maybe(choiceCount),
  stream: maybe(Type.Boolean()),
  stream_options: maybe(Type.Object({ include_usage: maybe(Type.Boolean()) })),
  keep_alive: maybe(
    Type.Union([
      Type.Number({ minimum: -1_000_000_000_000, maximum: 1_000_000_000_000 }),
      Type.String({ maxLength: 64 }),
    ]),
  ),
});

const contentPart = Type.Object({
  type: shortText,
  text: maybe(text),
  refusal: maybe(text),
  image_url: maybe(Type.Union([Type.Object({ url: text }), text])),
});

const toolCall = Type.Object({
  id: maybe(shortText),
  function: Type.Object({ name, arguments: maybe(Type.Union([text, jsonObject])) }),
});

const message = Type.Object({
  role: shortText,
  content: maybe(Type.Union([text, Type.Array(contentPart, { maxItems: mostItems })])),
  name: maybe(shortText),
  reasoning: maybe(text),
  reasoning_content: maybe(text),
  thinking: maybe(text),
  refusal: maybe(text),
  tool_calls: maybe(Type.Array(toolCall, { maxItems: 1024 })),
  tool_call_id: maybe(shortText),
});

const tool = Type.Object({
  type: Type.Optional(shortText),
  function: Type.Optional(Type.Object({ name, description: maybe(text), parameters: maybe(jsonObject) })),
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
  Type.Object({ type: Type.Literal("json_object"), schema: maybe(jsonObject) }),
  Type.Object({ type: Type.Literal("json_schema"), json_schema: Type.Object({ schema: maybe(jsonObject) }) }),
]);

const effort = Type.Enum(["none", "minimal", "low", "medium", "high", "xhigh", "max"]);

export const chatCompletionsRequest = Type.Object({
  model: name,
  messages: Type.Array(message, { minItems: 1, maxItems: mostItems }),
  ...settings.properties,
  max_completion_tokens: maybe(tokenCount),
  tools: maybe(Type.Array(tool, { maxItems: 1024 })),
  tool_choice: maybe(toolChoice),
  parallel_tool_calls: maybe(Type.Boolean()),
  response_format: maybe(responseFormat),
  logprobs: maybe(Type.Boolean()),
  top_logprobs: maybe(Type.Integer({ minimum: 0, maximum: 20 })),
  reasoning_effort: maybe(effort),
  reasoning: maybe(Type.Object({ effort: maybe(effort) })),
  think: maybe(Type.Union([Type.Boolean(), effort])),
  chat_template_kwargs: maybe(jsonObject),
  modalities: maybe(Type.Array(shortText, { maxItems: 16 })),
  // Only whether they are there is looked at, to refuse them.
  audio: Type.Optional(Type.Unknown()),
  // As above.
  web_search_options: Type.Optional(Type.Unknown()),
  // As above.
  functions: Type.Optional(Type.Unknown()),
});

const tokens = Type.Array(Type.Integer({ minimum: 0, maximum: 2 ** 31 }), {
  minItems: 1,
  maxItems: mostItems,
});
/** Tokens are taken in here so that they can be refused with a sentence that helps. */
const texts = Type.Union([
  text,
  Type.Array(text, { minItems: 1, maxItems: mostItems }),
  tokens,
  Type.Array(tokens, { minItems: 1, maxItems: mostItems }),
]);

export const completionsRequest = Type.Object({
  model: name,
  prompt: maybe(texts),
  suffix: maybe(text),
  echo: maybe(Type.Boolean()),
  best_of: maybe(choiceCount),
  logprobs: maybe(Type.Integer({ minimum: 0, maximum: 20 })),
  ...settings.properties,
});

export const createEmbeddingsRequest = Type.Object({
  model: name,
  input: texts,
  encoding_format: maybe(Type.Enum(["float", "base64"])),
  dimensions: maybe(Type.Integer({ minimum: 1, maximum: 1_000_000 })),
  options: maybe(options),
  keep_alive: settings.properties.keep_alive,
});
