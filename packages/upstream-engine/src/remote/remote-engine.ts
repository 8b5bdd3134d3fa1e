import type {
  Conversation,
  Embeddings,
  EmbedRequest,
  EngineEvent,
  EngineRequest,
} from "@hearth-and-keep/engine";
import type { EngineClient } from "../wire/engine-client.ts";
import { countOf, fieldsOf, listOf, textOf } from "../wire/json-fields.ts";
import { WireError } from "../wire/wire-error.ts";
import { countTokens, renderPrompt, Tokenizer, tokenizeText } from "./count-tokens.ts";
import type { Dialect } from "./dialects.ts";
import type { GatewayOptions } from "./gateway-headers.ts";
import { readLengths } from "./map-error.ts";
import { readEmbeddings } from "./read-embeddings.ts";
import { readResponse } from "./read-response.ts";
import { requestEngine } from "./request-engine.ts";
import { type RequestedEngine, writeRequest } from "./write-request.ts";

export type RemoteEngineOptions = {
  readonly dialect: Dialect;
  /** The engine's name for the model; by default the first one it lists. */
  readonly model?: string;
  /** Whether the operator has declared that the model accepts images. */
  readonly canSeeImages: boolean;
  /** Likewise for audio. */
  readonly canHearAudio: boolean;
  readonly gateway?: GatewayOptions | undefined;
};

/** What an engine reports about itself. */
export type RemoteFacts = {
  readonly model: string;
  readonly contextTokens: number | undefined;
  readonly chatTemplate: string | null;
  /** Undefined if the engine does not report it. */
  readonly supportsTools: boolean | undefined;
};

export type RemoteEngine = {
  /** Resolves if the engine reports that it is healthy; rejects otherwise. */
  checkHealth(signal: AbortSignal): Promise<void>;
  /** Requested once and cached until `invalidateFacts`. */
  getFacts(signal: AbortSignal): Promise<RemoteFacts>;
  /** Called if there may now be a different engine at the address, or the same one with a different model. */
  invalidateFacts(): void;
  generate(request: EngineRequest, signal: AbortSignal): AsyncGenerator<EngineEvent>;
  embed(request: EmbedRequest, signal: AbortSignal): Promise<Embeddings>;
  /** Like `count`, rejected as not supported if the engine has no tokenizer endpoint. */
  tokenize(text: string, signal: AbortSignal): Promise<readonly number[]>;
  render(conversation: Conversation, signal: AbortSignal): Promise<string>;
  count(conversation: Conversation, signal: AbortSignal): Promise<number>;
};

/** Assumed for engines that do not report their context size, so that a response without a limit is bounded. */
const maxContextTokens = 1_000_000;

export function createRemoteEngine(client: EngineClient, options: RemoteEngineOptions): RemoteEngine {
  const { dialect, canSeeImages, canHearAudio, gateway } = options;
  let tokenizer = new Tokenizer(client, dialect);
  let facts: RemoteFacts | undefined;
  const getFacts = async (signal: AbortSignal): Promise<RemoteFacts> => {
    facts ??= await fetchFacts(client, options, signal);
    return facts;
  };
  const describeTarget = async (signal: AbortSignal): Promise<RequestedEngine> => {
    const { model, supportsTools = true } = await getFacts(signal);
    return { dialect, model, supportsTools, canSeeImages, canHearAudio, gateway };
  };
  return {
    getFacts,
    invalidateFacts() {
      facts = undefined;
      tokenizer = new Tokenizer(client, dialect);
    },
    async checkHealth(signal) {
      await requestEngine(client, { path: dialect.healthPath }, signal);
    },
    async *generate(request, signal) {
      const engineRequest = writeRequest(request, await describeTarget(signal));
      const { isBareCall } = engineRequest;
      const { contextTokens = maxContextTokens } = await getFacts(signal);
      const responseOptions = { isBareCall, maxTokens: Math.min(request.maxTokens, contextTokens) };
      let body = engineRequest.body;
      try {
        yield* readResponse(client.stream({ ...engineRequest, body }, signal), responseOptions);
      } catch (error) {
        const remaining = remainingTokens(error);
        if (remaining === undefined) throw error;
        body = { ...body, max_tokens: remaining };
        yield* readResponse(client.stream({ ...engineRequest, body }, signal), responseOptions);
      }
    },
    async embed({ texts, truncates }, signal) {
      const { model } = await describeTarget(signal);
      const truncation = truncates && dialect.name === "vllm" ? { truncate_prompt_tokens: -1 } : {};
      const body = { model, input: texts, encoding_format: "float", ...truncation };
      const { data: rows, usage } = await requestEngine(client, { path: "/v1/embeddings", body }, signal);
      return readEmbeddings({ rows, usage }, texts.length);
    },
    tokenize: async (text, signal) =>
      tokenizeText(tokenizer, text, { ...(await describeTarget(signal)), signal }),
    count: async (conversation, signal) =>
      countTokens(tokenizer, conversation, { ...(await describeTarget(signal)), signal }),
    render: async (conversation, signal) =>
      renderPrompt(tokenizer, conversation, { ...(await describeTarget(signal)), signal }),
  };
}

/** Some engines reject a request whose token limit exceeds the context; it is retried with the tokens that are left. */
function remainingTokens(error: unknown): number | undefined {
  if (!(error instanceof WireError) || error.detail.kind !== "error-response") return undefined;
  // A retry would repeat output that was already sent.
  if (error.detail.isMidStream === true) return undefined;
  const lengths = readLengths(error.detail.value);
  const remaining = lengths === undefined ? 0 : lengths.contextTokens - lengths.promptTokens;
  return remaining > 0 ? remaining : undefined;
}

async function fetchFacts(
  client: EngineClient,
  { dialect, model }: RemoteEngineOptions,
  signal: AbortSignal,
): Promise<RemoteFacts> {
  const list = listOf((await requestEngine(client, { path: "/v1/models" }, signal))["data"]).map(fieldsOf);
  const listed = list.find(({ id }) => id === model) ?? list[0] ?? {};
  const properties =
    dialect.propertiesPath === undefined
      ? {}
      : await requestEngine(client, { path: dialect.propertiesPath }, signal);
  const settings = fieldsOf(properties["default_generation_settings"]);
  const templateCapabilities = fieldsOf(properties["chat_template_caps"]);
  const { supports_tools: tools } = templateCapabilities;
  const name = model ?? textOf(listed["id"]);
  // An engine that lists no model cannot serve requests yet.
  if (name === "") throw new WireError({ kind: "invalid-response" });
  return {
    model: name,
    contextTokens: countOf(settings["n_ctx"]) ?? countOf(listed["max_model_len"]),
    chatTemplate: textOf(properties["chat_template"]) || null,
    supportsTools: typeof tools === "boolean" ? tools : undefined,
  };
}
