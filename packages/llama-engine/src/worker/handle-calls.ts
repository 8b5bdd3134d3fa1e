import { deserialize } from "node:v8";
import type { EngineFailure, EngineRequest } from "@hearth-and-keep/engine";
import { measureOwnMemory } from "@hearth-and-keep/engine-host";
import { FailureError } from "@hearth-and-keep/failures";
import { FrameReader, writeFrame } from "../channel/frames.ts";
import { type FromWorker, heartbeatSeconds, type ToWorker } from "../channel/messages.ts";
import { openChannel } from "../channel/open-channel.ts";
import { useGpuPackages, useLocalBuild } from "./binding-hooks.ts";
import { embedTexts, TemporaryEmbedder } from "./embed-texts.ts";
import { createEventBatcher } from "./event-batcher.ts";
import { createGenerator, type Generator } from "./generate.ts";
import { type LoadedModel, loadModel } from "./load-model.ts";
import type { PromptStates } from "./prompt-states.ts";
import { createPromptTokenizer, type PromptTokenizer } from "./prompt-tokenizer.ts";

type Call = Exclude<ToWorker, { type: "load" | "abort" | "prompt-state" }>;

type LoadMessage = Extract<ToWorker, { type: "load" }>;

type WorkerState = {
  readonly loaded: LoadedModel;
  readonly tokenizer: PromptTokenizer;
  /** Undefined for a model that was loaded to embed or rank. */
  readonly generator: Generator | undefined;
  readonly embedder: TemporaryEmbedder;
  /** Undefined without a prompt cache. */
  readonly promptStates: PromptStates | undefined;
};

let state: WorkerState | undefined;
const activeCalls = new Map<number, AbortController>();

const channel = openChannel();

function send(message: FromWorker): void {
  writeFrame(channel, Buffer.from(JSON.stringify(message)));
}

async function load({ plan, buildFolder, keepsPrompts, gpu }: LoadMessage): Promise<void> {
  try {
    if (buildFolder !== undefined) useLocalBuild(buildFolder);
    if (gpu !== undefined) useGpuPackages(gpu.folder);
    const onProgress = (fraction: number): void => send({ type: "load-progress", fraction });
    const loaded = await loadModel(plan, onProgress, gpu?.backend);
    const tokenizer = createPromptTokenizer(loaded);
    const { context } = loaded;
    const promptStates = keepsPrompts === true ? await openPromptStates() : undefined;
    const generator =
      context.purpose === "generate"
        ? createGenerator(loaded, { ...context, promptStates }, tokenizer)
        : undefined;
    state = { loaded, tokenizer, generator, promptStates, embedder: new TemporaryEmbedder(loaded) };
    send({ type: "loaded", description: loaded.description });
  } catch (error) {
    send({
      type: "load-failed",
      failure: toFailure(error) ?? { kind: "model-invalid", reason: String(error) },
    });
  }
}

/** Loaded only with a prompt cache. */
async function openPromptStates(): Promise<PromptStates> {
  const { PromptStates: States } = await import("./prompt-states.ts");
  return new States((request) => send({ type: "prompt-cache", request }));
}

async function handleCall(call: Call): Promise<void> {
  const abort = new AbortController();
  activeCalls.set(call.id, abort);
  try {
    if (state === undefined) throw new Error("Cannot handle a call before a model is loaded");
    const value = await dispatch(call, { ...state, signal: abort.signal });
    send({ type: "result", id: call.id, value });
  } catch (error) {
    const failure = toFailure(error) ?? toGpuFailure(error);
    if (failure !== undefined) send({ type: "failure", id: call.id, failure });
    // An aborted call needs no result, but the server still has to release its id.
    else if (abort.signal.aborted) send({ type: "result", id: call.id, value: null });
    else {
      const reason = error instanceof Error ? (error.stack ?? "") : String(error);
      send({ type: "error", id: call.id, reason });
    }
  } finally {
    activeCalls.delete(call.id);
  }
}

type CallContext = WorkerState & { readonly signal: AbortSignal };

async function dispatch(call: Call, callContext: CallContext): Promise<unknown> {
  const {
    loaded: { model, context, description },
    tokenizer: { render, tokenizeInput, tokenizeText },
    signal,
  } = callContext;
  switch (call.type) {
    case "tokenize":
      return tokenizeText(call.text);
    case "render":
      return render(call.conversation);
    case "count":
      return (await tokenizeInput({ type: "conversation", conversation: call.conversation })).length;
    case "generate":
      return generate(call.id, call.request, callContext);
    case "embed": {
      if (context.purpose === "generate") return callContext.embedder.embed(call.request, signal);
      if (context.purpose !== "embed") throw notSupported("embeddings");
      const contextTokens = Math.min(
        description.contextTokens,
        call.request.contextTokens ?? description.contextTokens,
      );
      const contextFor = async () => context.context;
      return embedTexts(call.request, { model, contextFor, contextTokens, signal });
    }
    case "keep-prompts":
      return (await callContext.generator?.keepPrompts()) ?? 0;
    case "rank":
      if (context.purpose !== "rank") throw notSupported("ranking");
      return context.context.rankAll(call.query, [...call.documents]);
  }
}

async function generate(
  id: number,
  request: EngineRequest,
  { generator, signal }: CallContext,
): Promise<null> {
  if (generator === undefined) throw notSupported("generation");
  const batcher = createEventBatcher((events) => send({ type: "events", id, events }));
  try {
    await generator.generate(request, { signal, emit: (event) => batcher.push(event) });
  } finally {
    batcher.close();
  }
  return null;
}

function notSupported(feature: string): FailureError<EngineFailure> {
  return new FailureError<EngineFailure>({ kind: "not-supported", feature });
}

function toFailure(error: unknown): EngineFailure | undefined {
  // Every FailureError of this process carries a failure of the engine port.
  return error instanceof FailureError ? (error.failure as EngineFailure) : undefined;
}

/** What native code throws when a GPU is lost, or its memory is exhausted. */
const gpuError = /vk::|vulkan|cuda|Eval has failed/iu;

function toGpuFailure(error: unknown): EngineFailure | undefined {
  const isOnGpu = state !== undefined && state.loaded.description.gpu !== false;
  if (!isOnGpu || !(error instanceof Error) || !gpuError.test(error.message)) return undefined;
  return { kind: "gpu-failed", reason: error.message.slice(0, 200) };
}

function receive(message: ToWorker): void {
  if (message.type === "load") void load(message);
  else if (message.type === "prompt-state") state?.promptStates?.receive(message.bytes);
  else if (message.type === "abort") activeCalls.get(message.id)?.abort();
  else void handleCall(message);
}

const reader = new FrameReader();
channel.on("data", (chunk: Buffer) => {
  // The server serialized them.
  for (const frame of reader.push(chunk)) receive(deserialize(frame) as ToWorker);
});
channel.on("error", () => process.exit(0));
channel.on("close", () => process.exit(0));
setInterval(() => {
  const loaded = state?.loaded;
  const samplingSeconds = loaded?.context.purpose === "generate" ? loaded.context.samplingSeconds() : 0;
  send({
    type: "heartbeat",
    threads: loaded?.threads(),
    samplingSeconds,
    measuredMemory: measureOwnMemory(),
  });
}, heartbeatSeconds * 1000);
