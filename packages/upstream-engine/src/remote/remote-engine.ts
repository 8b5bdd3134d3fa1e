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
import { readLengths } from "./map-error.ts";
import { readEmbeddings } from "./read-embeddings.ts";
import { readAnswer } from "./read-response.ts";
import { requestEngine } from "./request-engine.ts";
import { type RequestedEngine, writeRequest } from "./write-request.ts";

export type RemoteEnginePlan = {
  readonly dialect: Dialect;
  /** What the engine calls the model; absent takes the first it lists. */
  readonly model?: string;
  /** Whether the operator says that the model sees images. */
  readonly canSeeImages: boolean;
};

/** What an engine told of itself. */
export type RemoteFacts = {
  readonly model: string;
  readonly contextTokens: number | undefined;
  readonly chatTemplate: string | null;
  /** Undefined where the engine does not tell. */
  readonly knowsTools: boolean | undefined;
};

export type RemoteEngine = {
  /** Settles when it says that it is well; rejects otherwise. */
  checkHealth(signal: AbortSignal): Promise<void>;
  /** Asked once; the answer is kept until it is forgotten. */
  learn(signal: AbortSignal): Promise<RemoteFacts>;
  /** What is there may be another engine now, or the same with another model. */
  forget(): void;
  generate(request: EngineRequest, signal: AbortSignal): AsyncGenerator<EngineEvent>;
  embed(request: EmbedRequest, signal: AbortSignal): Promise<Embeddings>;
  /** Refused as not supported where the engine cannot be asked; so is `count`. */
  tokenize(text: string, signal: AbortSignal): Promise<readonly number[]>;
  render(conversation: Conversation, signal: AbortSignal): Promise<string>;
  count(conversation: Conversation, signal: AbortSignal): Promise<number>;
};

/** Of engines that do not tell theirs: an answer without a limit ends somewhere. */
const largestContext = 1_000_000;

export function createRemoteEngine(client: EngineClient, plan: RemoteEnginePlan): RemoteEngine {
  const { dialect, canSeeImages } = plan;
  let tokenizer = new Tokenizer(client, dialect);
  let facts: RemoteFacts | undefined;
  const learn = async (signal: AbortSignal): Promise<RemoteFacts> => {
    facts ??= await askFacts(client, plan, signal);
    return facts;
  };
  const asked = async (signal: AbortSignal): Promise<RequestedEngine> => {
    const { model, knowsTools = true } = await learn(signal);
    return { dialect, model, knowsTools, canSeeImages };
  };
  return {
    learn,
    forget() {
      facts = undefined;
      tokenizer = new Tokenizer(client, dialect);
    },
    async checkHealth(signal) {
      await requestEngine(client, { path: dialect.healthPath }, signal);
    },
    async *generate(request, signal) {
      const written = writeRequest(request, await asked(signal));
      const { isBareCall } = written;
      const { contextTokens = largestContext } = await learn(signal);
      const reading = { isBareCall, maxTokens: Math.min(request.maxTokens, contextTokens) };
      let body = written.body;
      try {
        yield* readAnswer(client.stream({ ...written, body }, signal), reading);
      } catch (problem) {
        const room = roomFor(problem);
        if (room === undefined) throw problem;
        body = { ...body, max_tokens: room };
        yield* readAnswer(client.stream({ ...written, body }, signal), reading);
      }
    },
    async embed({ texts, truncates }, signal) {
      const { model } = await asked(signal);
      const cut = truncates && dialect.name === "vllm" ? { truncate_prompt_tokens: -1 } : {};
      const body = { model, input: texts, encoding_format: "float", ...cut };
      const { data: rows, usage } = await requestEngine(client, { path: "/v1/embeddings", body }, signal);
      return readEmbeddings({ rows, usage }, texts.length);
    },
    tokenize: async (text, signal) => tokenizeText(tokenizer, text, { ...(await asked(signal)), signal }),
    count: async (conversation, signal) =>
      countTokens(tokenizer, conversation, { ...(await asked(signal)), signal }),
    render: async (conversation, signal) =>
      renderPrompt(tokenizer, conversation, { ...(await asked(signal)), signal }),
  };
}

/** An answer is asked for beyond the context: engines that refuse this are told how much room there is. */
function roomFor(problem: unknown): number | undefined {
  if (!(problem instanceof WireError) || problem.detail.kind !== "refused") return undefined;
  // What was given out would be said twice.
  if (problem.detail.isMidway === true) return undefined;
  const lengths = readLengths(problem.detail.value);
  const room = lengths === undefined ? 0 : lengths.contextTokens - lengths.promptTokens;
  return room > 0 ? room : undefined;
}

async function askFacts(
  client: EngineClient,
  { dialect, model }: RemoteEnginePlan,
  signal: AbortSignal,
): Promise<RemoteFacts> {
  const list = listOf((await requestEngine(client, { path: "/v1/models" }, signal))["data"]).map(fieldsOf);
  const listed = list.find(({ id }) => id === model) ?? list[0] ?? {};
  const properties =
    dialect.propertiesPath === undefined
      ? {}
      : await requestEngine(client, { path: dialect.propertiesPath }, signal);
  const settings = fieldsOf(properties["default_generation_settings"]);
  const abilities = fieldsOf(properties["chat_template_caps"]);
  const { supports_tools: tools } = abilities;
  const name = model ?? textOf(listed["id"]);
  // One that lists nothing yet cannot be asked for anything.
  if (name === "") throw new WireError({ kind: "not-understood" });
  return {
    model: name,
    contextTokens: countOf(settings["n_ctx"]) ?? countOf(listed["max_model_len"]),
    chatTemplate: textOf(properties["chat_template"]) || null,
    knowsTools: typeof tools === "boolean" ? tools : undefined,
  };
}
