import {
  type Conversation,
  type EngineRequest,
  findUnsupportedMedia,
  type MediaSupport,
  type OutputConstraint,
  type Tool,
} from "@hearth-and-keep/engine";
import type { EngineHttpRequest } from "../wire/engine-client.ts";
import type { Fields } from "../wire/json-fields.ts";
import type { Dialect } from "./dialects.ts";
import { type GatewayOptions, gatewayHeaders } from "./gateway-headers.ts";
import { writeMessages, writeTools } from "./write-messages.ts";
import { notSupported, writeSampling } from "./write-sampling.ts";

/** The engine that a request is written for. */
export type RequestedEngine = MediaSupport & {
  readonly dialect: Dialect;
  /** The engine's name for the model. */
  readonly model: string;
  readonly supportsTools: boolean;
  /** Set if the engine is behind an llm-d gateway. */
  readonly gateway?: GatewayOptions | undefined;
};

export type WrittenRequest = EngineHttpRequest & {
  readonly body: Fields;
  /** The output is the JSON of one tool call, which has to be wrapped in tool-call tags. */
  readonly isBareCall: boolean;
};

/** Converts a request to the engine's dialect, with streaming enabled. */
export function writeRequest(request: EngineRequest, engine: RequestedEngine): WrittenRequest {
  const { dialect, model } = engine;
  const shared: Fields = {
    model,
    stream: true,
    stream_options: dialect.streamOptions,
    ...dialect.extraFields,
    ...writeSampling(request.sampling, dialect),
    // Without a limit, an engine generates until its context is full.
    ...(request.maxTokens > maxTokens ? {} : { max_tokens: request.maxTokens }),
    ...(dialect.supportsCacheSalt && request.cachePartition !== ""
      ? { cache_salt: request.cachePartition }
      : {}),
  };
  const written =
    request.input.type === "conversation"
      ? writeChat(request, request.input.conversation, { ...engine, shared })
      : writeCompletion(request, { ...engine, shared });
  return engine.gateway === undefined
    ? written
    : { ...written, headers: gatewayHeaders(request, engine.gateway) };
}

/** More than the size of any context. */
const maxTokens = 100_000_000;

type RequestContext = RequestedEngine & { readonly shared: Fields };

function writeChat(
  request: EngineRequest,
  conversation: Conversation,
  engine: RequestContext,
): WrittenRequest {
  const { dialect, supportsTools, shared } = engine;
  const { constraint, logProbabilities } = request;
  const isForced = constraint?.type === "tool-calls";
  const tools = supportsTools ? (conversation.tools ?? []) : [];
  const unsupported = findUnsupportedMedia(conversation, engine);
  if (unsupported !== undefined) throw notSupported(unsupported);
  return {
    path: "/v1/chat/completions",
    isBareCall: isForced && !supportsTools,
    body: {
      ...shared,
      messages: writeMessages(conversation, engine),
      ...(tools.length === 0 ? {} : { tools: writeTools(tools) }),
      ...(constraint === undefined ? {} : writeConstraint(constraint, engine)),
      ...writeTemplateVariables(conversation, dialect),
      ...writeReasoningLimit(request, dialect),
      ...(conversation.messages.at(-1)?.role === "assistant" ? dialect.continuationFields : {}),
      ...(logProbabilities === undefined ? {} : { logprobs: true, top_logprobs: logProbabilities }),
    },
  };
}

function writeCompletion(request: EngineRequest, { dialect, shared }: RequestContext): WrittenRequest {
  const { input, constraint, logProbabilities } = request;
  if (input.type === "fill-in-the-middle" && !dialect.supportsSuffix)
    throw notSupported("fill-in-the-middle");
  const prompt =
    input.type === "fill-in-the-middle" ? input.prefix : input.type === "raw" ? input.prompt : "";
  return {
    path: "/v1/completions",
    isBareCall: false,
    body: {
      ...shared,
      prompt,
      ...(input.type === "fill-in-the-middle" ? { suffix: input.suffix } : {}),
      ...(constraint === undefined ? {} : writeConstraint(constraint, { dialect, supportsTools: false })),
      ...(logProbabilities === undefined ? {} : { logprobs: logProbabilities }),
    },
  };
}

function writeConstraint(
  constraint: OutputConstraint,
  { dialect, supportsTools }: Pick<RequestedEngine, "dialect" | "supportsTools">,
): Fields {
  switch (constraint.type) {
    case "json":
      return { response_format: { type: "json_object" } };
    case "json-schema":
      return writeSchema(constraint.schema);
    case "gbnf":
      if (dialect.grammar === undefined) throw notSupported("grammars");
      return dialect.grammar(constraint.grammar);
    case "tool-calls":
      return supportsTools ? forceCalls(constraint) : writeSchema(singleCallSchema(constraint.tools));
  }
}

function writeSchema(schema: unknown): Fields {
  return { response_format: { type: "json_schema", json_schema: { name: "answer", strict: true, schema } } };
}

function forceCalls({ tools, maxCalls }: Extract<OutputConstraint, { type: "tool-calls" }>): Fields {
  const [only, ...others] = tools;
  const isSingle = only !== undefined && others.length === 0;
  return {
    tool_choice: isSingle ? { type: "function", function: { name: only.name } } : "required",
    parallel_tool_calls: maxCalls > 1,
  };
}

/**
 * An engine whose template has no tools ignores `tool_choice`, so a call is enforced through a JSON Schema of its
 * shape.
 */
function singleCallSchema(tools: readonly Tool[]): Fields {
  return {
    anyOf: tools.map(({ name, parameters }) => ({
      type: "object",
      properties: { name: { const: name }, arguments: parameters ?? { type: "object" } },
      required: ["name", "arguments"],
      additionalProperties: false,
    })),
  };
}

/** Without a field of the engine the limit has no effect, which its description says: see `limitsReasoning`. */
function writeReasoningLimit({ maxReasoningTokens }: EngineRequest, dialect: Dialect): Fields {
  const { reasoningLimitField: field } = dialect;
  return field === undefined || maxReasoningTokens === undefined ? {} : { [field]: maxReasoningTokens };
}

function writeTemplateVariables(conversation: Conversation, dialect: Dialect): Fields {
  const { thinking, templateVariables = {} } = conversation;
  if (dialect.supportsTemplateVariables) {
    const thinkingVariables = thinking === undefined ? {} : { enable_thinking: thinking, thinking };
    const variables = { ...thinkingVariables, ...templateVariables };
    return Object.keys(variables).length === 0 ? {} : { chat_template_kwargs: variables };
  }
  const { reasoning_effort: effort, ...others } = templateVariables;
  if (Object.keys(others).length > 0) throw notSupported("chat template variables");
  return effort === undefined ? {} : { reasoning_effort: effort };
}
