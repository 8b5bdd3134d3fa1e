import { type Static, type TSchema, Type } from "typebox";

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

/** The required fields depend on the type and are checked in read-items.ts. */
const item = Type.Object({
  type: orNull(name),
  id: orNull(name),
  role: orNull(name),
  content: orNull(contentOrText),
  call_id: orNull(name),
  name: orNull(name),
  namespace: orNull(name),
  arguments: orNull(text),
  output: orNull(contentOrText),
  summary: orNull(Type.Array(part, { maxItems: 4096 })),
});

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
});

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

const effort = Type.Union([
  Type.Literal("none"),
  Type.Literal("minimal"),
  Type.Literal("low"),
  Type.Literal("medium"),
  Type.Literal("high"),
  Type.Literal("xhigh"),
  Type.Literal("max"),
]);

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

/** The body of `POST /v1/responses`; fields that are not listed are allowed and ignored. */
export const responsesRequest = Type.Object({
  model: Type.String({ maxLength: 1024 }),
  input: Type.Union([Type.Array(item, { minItems: 1, maxItems: 16_384 }), text]),
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
  text: orNull(Type.Object({ format: orNull(textFormat), verbosity: orNull(name) })),
  reasoning: orNull(Type.Object({ effort: orNull(effort), summary: orNull(name) })),
  truncation: orNull(Type.Union([Type.Literal("auto"), Type.Literal("disabled")])),
  metadata: orNull(Type.Record(name, Type.String({ maxLength: 4096 }), { maxProperties: 64 })),
  user: orNull(Type.String({ maxLength: 1024 })),
  background: orNull(Type.Boolean()),
  // Declared only to be rejected when present.
  conversation: Type.Optional(Type.Unknown()),
  // As above.
  prompt: Type.Optional(Type.Unknown()),
  ...extraFields,
});

export type ResponsesRequest = Static<typeof responsesRequest>;
export type InputItem = Static<typeof item>;
export type InputPart = Static<typeof part>;
export type OfferedTool = Static<typeof tool>;
