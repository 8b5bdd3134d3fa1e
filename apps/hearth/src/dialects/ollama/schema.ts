import { type Static, type TSchema, Type } from "typebox";
import { loadOptionNames } from "../../load-settings.ts";
import { optionNames } from "./read-options.ts";

/** Ollama treats null as absent, so clients send it. */
function orNull<Schema extends TSchema>(schema: Schema) {
  return Type.Optional(Type.Union([schema, Type.Null()]));
}

/** The limit on request bodies, so the body limit is always reached first. */
const text = Type.String({ maxLength: 67_108_864 });
const modelName = Type.String({ maxLength: 1024 });
const flag = orNull(Type.Boolean());

/** Some clients send `name` instead of `model`. */
const named = { model: orNull(modelName), name: orNull(modelName) };

/** Unknown keys are allowed, and wrong types are rejected with Ollama's own texts. */
const parameters = orNull(
  // The values are checked in read-options.ts.
  Type.Record(Type.String({ maxLength: 256 }), Type.Unknown(), { maxProperties: 256 }),
);

/** Lists the options that have an effect; others are allowed, ignored and named in the response. */
function optionsWith(names: readonly string[]) {
  // The values are checked in read-options.ts.
  const listed = names.map((name) => [name, Type.Optional(Type.Unknown())]);
  const object = Type.Object(Object.fromEntries(listed), { maxProperties: 256 });
  // Keys that are not listed are in the type too, because their types are checked.
  return orNull(Type.Unsafe<Readonly<Record<string, unknown>>>(object));
}

const options = optionsWith(optionNames);
const embeddingOptions = optionsWith(["num_ctx", ...loadOptionNames]);

/** Seconds, or a duration such as "1h30m". */
const keepAlive = orNull(
  Type.Union([Type.Number({ minimum: -1e12, maximum: 1e12 }), Type.String({ maxLength: 64 })]),
);

const toolCall = Type.Object({
  id: orNull(Type.String({ maxLength: 256 })),
  function: Type.Object({
    name: Type.String({ maxLength: 256 }),
    // An object, its JSON text, or nothing. Checked in generation/read-messages.ts.
    arguments: Type.Optional(Type.Unknown()),
  }),
});

const images = orNull(Type.Array(text, { maxItems: 64 }));

const message = Type.Object({
  role: Type.String({ maxLength: 64 }),
  content: orNull(text),
  thinking: orNull(text),
  images,
  tool_calls: orNull(Type.Array(toolCall, { maxItems: 256 })),
  tool_name: orNull(Type.String({ maxLength: 256 })),
  tool_call_id: orNull(Type.String({ maxLength: 256 })),
});

const tool = Type.Object({
  type: orNull(Type.String({ maxLength: 64 })),
  function: Type.Object({
    name: Type.String({ maxLength: 256 }),
    description: orNull(text),
    // A JSON Schema, passed to the model's template unchanged.
    parameters: Type.Optional(Type.Unknown()),
  }),
});

/** The fields shared by generate and chat. */
const generation = {
  ...named,
  stream: flag,
  // "json" or a JSON Schema. Checked in generation/read-format.ts.
  format: Type.Optional(Type.Unknown()),
  options,
  keep_alive: keepAlive,
  think: orNull(Type.Union([Type.Boolean(), Type.String({ maxLength: 64 })])),
  truncate: flag,
  logprobs: flag,
  top_logprobs: Type.Optional(Type.Integer({ minimum: 0, maximum: 20 })),
};

export const generateRequest = Type.Object({
  ...generation,
  prompt: orNull(text),
  suffix: orNull(text),
  system: orNull(text),
  template: orNull(text),
  raw: flag,
  images,
  context: orNull(Type.Array(Type.Integer({ minimum: 0, maximum: 16_777_215 }), { maxItems: 8_388_608 })),
});
export type GenerateBody = Static<typeof generateRequest>;

export const chatRequest = Type.Object({
  ...generation,
  messages: orNull(Type.Array(message, { maxItems: 65_536 })),
  tools: orNull(Type.Array(tool, { maxItems: 1024 })),
});
export type ChatBody = Static<typeof chatRequest>;
export type ChatMessage = Static<typeof message>;
export type ChatTool = Static<typeof tool>;

export const embedRequest = Type.Object({
  ...named,
  input: orNull(Type.Union([text, Type.Array(text, { maxItems: 65_536 })])),
  truncate: flag,
  dimensions: orNull(Type.Integer({ minimum: 0, maximum: 1_000_000 })),
  options: embeddingOptions,
  keep_alive: keepAlive,
});
export type EmbedBody = Static<typeof embedRequest>;

export const embeddingsRequest = Type.Object({
  ...named,
  prompt: orNull(text),
  options: embeddingOptions,
  keep_alive: keepAlive,
});
export type EmbeddingsBody = Static<typeof embeddingsRequest>;

/** Hearth's own. */
export const tokenizeRequest = Type.Object({ ...named, prompt: text });
export type TokenizeBody = Static<typeof tokenizeRequest>;

export const showRequest = Type.Object({ ...named, verbose: flag });
export type ShowBody = Static<typeof showRequest>;

export const copyRequest = Type.Object({ source: modelName, destination: modelName });
export type CopyBody = Static<typeof copyRequest>;

export const deleteRequest = Type.Object(named);
export type DeleteBody = Static<typeof deleteRequest>;

/** Hearth's own: an additional name for a model. */
export const aliasRequest = Type.Object({
  name: modelName,
  model: modelName,
  fallback: orNull(modelName),
  parameters,
});
export type AliasBody = Static<typeof aliasRequest>;

export const removeAliasRequest = Type.Object({ name: modelName });
export type RemoveAliasBody = Static<typeof removeAliasRequest>;

/** A pull or a push. */
export const transferRequest = Type.Object({ ...named, insecure: flag, stream: flag });
export type TransferBody = Static<typeof transferRequest>;

/** Digests of uploaded blobs by file name. */
const files = orNull(
  Type.Record(Type.String({ maxLength: 1024 }), Type.String({ maxLength: 128 }), { maxProperties: 4096 }),
);

const storedMessage = Type.Object({
  role: Type.Union([Type.Literal("system"), Type.Literal("user"), Type.Literal("assistant")]),
  content: orNull(text),
});

export const createRequest = Type.Object({
  ...named,
  from: orNull(modelName),
  files,
  adapters: files,
  template: orNull(text),
  system: orNull(text),
  license: orNull(Type.Union([text, Type.Array(text, { maxItems: 64 })])),
  parameters,
  messages: orNull(Type.Array(storedMessage, { maxItems: 4096 })),
  quantize: orNull(Type.String({ maxLength: 64 })),
  quantization: orNull(Type.String({ maxLength: 64 })),
  stream: flag,
});
export type CreateBody = Static<typeof createRequest>;
