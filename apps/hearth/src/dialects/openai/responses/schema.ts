import { type Static, type TSchema, Type } from "typebox";
import { effortLevels } from "../reasoning-effort.ts";

/** The limit on request bodies, so the body limit is always reached first. */
const maxTextLength = 64 * 1024 * 1024;
const maxNameLength = 256;

const text = Type.String({ maxLength: maxTextLength });
const name = Type.String({ maxLength: maxNameLength });

// The more specific branch of a union comes first, because its validation error is the one reported.
const orNull = <Schema extends TSchema>(schema: Schema) => Type.Optional(Type.Union([schema, Type.Null()]));

// A JSON Schema; the engine rejects unsupported keywords.
const jsonSchema = Type.Record(name, Type.Unknown(), { maxProperties: 1000 });

const part = Type.Object({
  type: name,
  text: orNull(text),
  refusal: orNull(text),
  image_url: orNull(text),
  file_data: orNull(text),
  file_url: orNull(text),
  file_id: orNull(name),
  filename: orNull(Type.String({ maxLength: 1024 })),
});

const contentOrText = Type.Union([Type.Array(part, { maxItems: 4096 }), text]);

const functionFields = {
  type: name,
  name: orNull(name),
  description: orNull(text),
  parameters: orNull(jsonSchema),
  strict: orNull(Type.Boolean()),
};

const tool = Type.Object({
  ...functionFields,
  /** Only for the type `namespace`. */
  tools: orNull(Type.Array(Type.Object(functionFields), { maxItems: 1024 })),
  /** Only for the type `custom`. */
  format: orNull(Type.Object({ type: orNull(name), syntax: orNull(name), definition: orNull(text) })),
  /** Only for the type `tool_search`. */
  execution: orNull(name),
});

const itemTypes = [
  "message",
  "reasoning",
  "function_call",
  "function_call_output",
  "custom_tool_call",
  "custom_tool_call_output",
  "item_reference",
  "additional_tools",
  "tool_search_output",
];

/** The required fields depend on the type and are checked in read-items.ts. */
const checkedItem = Type.Object({
  type: orNull(Type.Enum(itemTypes)),
  id: orNull(name),
  role: orNull(name),
  content: orNull(contentOrText),
  call_id: orNull(name),
  name: orNull(name),
  namespace: orNull(name),
  arguments: orNull(text),
  output: orNull(contentOrText),
  summary: orNull(Type.Array(part, { maxItems: 4096 })),
  /** Of a custom tool call. */
  input: orNull(text),
  encrypted_content: orNull(text),
  tools: orNull(Type.Array(tool, { maxItems: 1024 })),
});

/** Any other item is allowed, whatever it contains: agents send back what other servers gave them. */
const otherItem = Type.Object({
  type: Type.String({ maxLength: maxNameLength, pattern: `^(?!(?:${itemTypes.join("|")})$)` }),
});

// Read field by field in history-items.ts, so its own type would only be in the way.
const item = Type.Unsafe<Omit<Static<typeof checkedItem>, "type"> & { type?: string | null }>(
  Type.Union([checkedItem, otherItem]),
);

const toolChoice = Type.Union([
  Type.Object({
    type: name,
    name: orNull(name),
    namespace: orNull(name),
    mode: orNull(Type.Union([Type.Literal("auto"), Type.Literal("required")])),
    tools: orNull(
      Type.Array(Type.Object({ type: name, name: orNull(name), namespace: orNull(name) }), {
        maxItems: 1024,
      }),
    ),
  }),
  Type.Literal("auto"),
  Type.Literal("none"),
  Type.Literal("required"),
]);

const textFormat = Type.Object({
  type: Type.Union([Type.Literal("text"), Type.Literal("json_object"), Type.Literal("json_schema")]),
  name: orNull(name),
  schema: orNull(jsonSchema),
  strict: orNull(Type.Boolean()),
});

const effort = Type.Enum(effortLevels);

const penalty = Type.Number({ minimum: -2, maximum: 2 });

/** Not part of this OpenAI API, but sent by clients of local models. */
const extraFields = {
  frequency_penalty: orNull(penalty),
  presence_penalty: orNull(penalty),
  repeat_penalty: orNull(Type.Number({ minimum: 0, maximum: 10 })),
  top_k: orNull(Type.Integer({ minimum: -1, maximum: 1_000_000 })),
  min_p: orNull(Type.Number({ minimum: 0, maximum: 1 })),
  seed: orNull(Type.Integer({ minimum: Number.MIN_SAFE_INTEGER, maximum: Number.MAX_SAFE_INTEGER })),
  stop: orNull(
    Type.Union([
      Type.Array(Type.String({ maxLength: 1024 }), { maxItems: 64 }),
      Type.String({ maxLength: 1024 }),
    ]),
  ),
  options: orNull(Type.Object({ num_ctx: orNull(Type.Integer({ minimum: 0, maximum: 100_000_000 })) })),
  keep_alive: orNull(
    Type.Union([
      Type.Number({ minimum: -1_000_000_000_000, maximum: 1_000_000_000_000 }),
      Type.String({ maxLength: 64 }),
    ]),
  ),
};

const metadata = Type.Record(name, Type.String({ maxLength: 4096 }), { maxProperties: 64 });

const maxItems = 16_384;
const items = Type.Array(item, { maxItems });

/** The body of `POST /v1/responses`; fields that are not listed are allowed, ignored and named in the response. */
export const responsesRequest = Type.Object({
  model: Type.String({ maxLength: 1024 }),
  input: Type.Union([Type.Array(item, { minItems: 1, maxItems }), text]),
  instructions: orNull(text),
  stream: orNull(Type.Boolean()),
  store: orNull(Type.Boolean()),
  previous_response_id: orNull(name),
  max_output_tokens: orNull(Type.Integer({ minimum: 1, maximum: 100_000_000 })),
  temperature: orNull(Type.Number({ minimum: 0, maximum: 2 })),
  top_p: orNull(Type.Number({ minimum: 0, maximum: 1 })),
  tools: orNull(Type.Array(tool, { maxItems: 1024 })),
  tool_choice: orNull(toolChoice),
  parallel_tool_calls: orNull(Type.Boolean()),
  text: orNull(Type.Object({ format: orNull(textFormat) })),
  reasoning: orNull(Type.Object({ effort: orNull(effort), summary: orNull(name) })),
  truncation: orNull(Type.Union([Type.Literal("auto"), Type.Literal("disabled")])),
  metadata: orNull(metadata),
  user: orNull(Type.String({ maxLength: 1024 })),
  background: orNull(Type.Boolean()),
  include: orNull(Type.Array(name, { maxItems: 64 })),
  top_logprobs: orNull(Type.Integer({ minimum: 0, maximum: 20 })),
  conversation: orNull(Type.Union([Type.Object({ id: name }), name])),
  // Declared only to be rejected when present.
  prompt: Type.Optional(Type.Unknown()),
  ...extraFields,
});

/** The body of `POST /v1/responses/input_tokens`: the fields that decide the prompt. */
export const inputTokensRequest = Type.Object({
  ...Type.Omit(responsesRequest, ["input"]).properties,
  input: orNull(responsesRequest.properties.input),
});

/** The body of `POST /v1/responses/compact`. */
export const compactRequest = Type.Object({
  ...Type.Pick(responsesRequest, ["model", "instructions", "previous_response_id", "options", "keep_alive"])
    .properties,
  input: orNull(responsesRequest.properties.input),
});

/** The body of `POST /v1/conversations`, which may be empty. */
export const createConversationRequest = Type.Optional(
  Type.Object({ items: orNull(items), metadata: orNull(metadata) }),
);

/** The body of `POST /v1/conversations/{id}`. */
export const updateConversationRequest = Type.Object({ metadata: orNull(metadata) });

/** The body of `POST /v1/conversations/{id}/items`. */
export const createItemsRequest = Type.Object({ items });

export type ResponsesRequest = Static<typeof responsesRequest>;
export type InputTokensRequest = Static<typeof inputTokensRequest>;
export type CompactRequest = Static<typeof compactRequest>;
export type CreateConversation = Static<typeof createConversationRequest>;
export type UpdateConversation = Static<typeof updateConversationRequest>;
export type CreateItems = Static<typeof createItemsRequest>;
export type InputItem = Static<typeof item>;
export type InputPart = Static<typeof part>;
export type OfferedTool = Static<typeof tool>;
