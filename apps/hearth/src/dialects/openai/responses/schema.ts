import { type Static, type TSchema, Type } from "typebox";

/** Texts have no limit of their own: the body's is reached first. */
const longestText = 64 * 1024 * 1024;
const longestName = 256;

const text = Type.String({ maxLength: longestText });
const name = Type.String({ maxLength: longestName });

// The richer branch of a union stands first: its complaint is the one that callers read.
const orNothing = <Schema extends TSchema>(schema: Schema) =>
  Type.Optional(Type.Union([schema, Type.Null()]));

// A JSON Schema belongs to its author; the engine refuses what it cannot follow.
const jsonSchema = Type.Record(name, Type.Unknown(), { maxProperties: 1000 });

const part = Type.Object({
  type: name,
  text: orNothing(text),
  refusal: orNothing(text),
  image_url: orNothing(text),
  file_data: orNothing(text),
  file_url: orNothing(text),
  file_id: orNothing(name),
  filename: orNothing(Type.String({ maxLength: 1024 })),
});

const partsOrText = Type.Union([Type.Array(part, { maxItems: 4096 }), text]);

/** Which of the fields an item needs depends on its type, which is checked when it is read. */
const item = Type.Object({
  type: orNothing(name),
  id: orNothing(name),
  role: orNothing(name),
  content: orNothing(partsOrText),
  call_id: orNothing(name),
  name: orNothing(name),
  namespace: orNothing(name),
  arguments: orNothing(text),
  output: orNothing(partsOrText),
  summary: orNothing(Type.Array(part, { maxItems: 4096 })),
});

const functionFields = {
  type: name,
  name: orNothing(name),
  description: orNothing(text),
  parameters: orNothing(jsonSchema),
  strict: orNothing(Type.Boolean()),
};

const tool = Type.Object({
  ...functionFields,
  /** Of a namespace. */
  tools: orNothing(Type.Array(Type.Object(functionFields), { maxItems: 1024 })),
});

const toolChoice = Type.Union([
  Type.Object({
    type: name,
    name: orNothing(name),
    namespace: orNothing(name),
    mode: orNothing(Type.Union([Type.Literal("auto"), Type.Literal("required")])),
    tools: orNothing(
      Type.Array(Type.Object({ type: name, name: orNothing(name), namespace: orNothing(name) }), {
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
  name: orNothing(name),
  schema: orNothing(jsonSchema),
  strict: orNothing(Type.Boolean()),
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

/** What OpenAI's interface does not have here, and callers of local models send all the same. */
const extraFields = {
  frequency_penalty: orNothing(penalty),
  presence_penalty: orNothing(penalty),
  repeat_penalty: orNothing(Type.Number({ minimum: 0, maximum: 10 })),
  top_k: orNothing(Type.Integer({ minimum: -1, maximum: 1_000_000 })),
  min_p: orNothing(Type.Number({ minimum: 0, maximum: 1 })),
  seed: orNothing(Type.Integer({ minimum: Number.MIN_SAFE_INTEGER, maximum: Number.MAX_SAFE_INTEGER })),
  stop: orNothing(
    Type.Union([
      Type.Array(Type.String({ maxLength: 1024 }), { maxItems: 64 }),
      Type.String({ maxLength: 1024 }),
    ]),
  ),
  options: orNothing(Type.Object({ num_ctx: orNothing(Type.Integer({ minimum: 0, maximum: 100_000_000 })) })),
  keep_alive: orNothing(
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
  instructions: orNothing(text),
  stream: orNothing(Type.Boolean()),
  store: orNothing(Type.Boolean()),
  previous_response_id: orNothing(name),
  max_output_tokens: orNothing(Type.Integer({ minimum: 1, maximum: 100_000_000 })),
  temperature: orNothing(Type.Number({ minimum: 0, maximum: 2 })),
  top_p: orNothing(Type.Number({ minimum: 0, maximum: 1 })),
  tools: orNothing(Type.Array(tool, { maxItems: 1024 })),
  tool_choice: orNothing(toolChoice),
  parallel_tool_calls: orNothing(Type.Boolean()),
  text: orNothing(Type.Object({ format: orNothing(textFormat), verbosity: orNothing(name) })),
  reasoning: orNothing(Type.Object({ effort: orNothing(effort), summary: orNothing(name) })),
  truncation: orNothing(Type.Union([Type.Literal("auto"), Type.Literal("disabled")])),
  metadata: orNothing(Type.Record(name, Type.String({ maxLength: 4096 }), { maxProperties: 64 })),
  user: orNothing(Type.String({ maxLength: 1024 })),
  background: orNothing(Type.Boolean()),
  // Named only to be refused: nothing of theirs is held here.
  conversation: Type.Optional(Type.Unknown()),
  // As above.
  prompt: Type.Optional(Type.Unknown()),
  ...extraFields,
});

export type ResponsesRequest = Static<typeof responsesRequest>;
export type InputItem = Static<typeof item>;
export type InputPart = Static<typeof part>;
export type OfferedTool = Static<typeof tool>;
