import {
  type ModelTemplate,
  type PreparationOptions,
  PreparationThread,
  plainMetadata,
  type SpecialTokens,
  templateTextsOf,
} from "@hearth-and-keep/chat-templates";
import { createTemplateParser, tryChatTemplate } from "@hearth-and-keep/chat-templates/rendering";
import type { EngineDescription, EngineFailure, LoadPlan } from "@hearth-and-keep/engine";
import { FreeCores, measureOwnMemory, observeAllocations } from "@hearth-and-keep/engine-host";
import { FailureError } from "@hearth-and-keep/failures";
import { inspectModelFile, type ModelFile } from "@hearth-and-keep/gguf";
import {
  GgufInsights,
  getLlama,
  InsufficientMemoryError,
  type Llama,
  LlamaLogLevel,
  type LlamaModel,
} from "node-llama-cpp";
import type { GpuBuild } from "../channel/messages.ts";
import { findTextCuts } from "./find-text-cuts.ts";
import type { ModelContext } from "./model-context.ts";
import { hookDecoding, hookSampling } from "./native-context.ts";
import { PrefillSpeed } from "./prefill-prompt.ts";
import { type BatchSharingOptions, shareBatch } from "./share-batch.ts";
import type { TextCuts } from "./slice-text.ts";
import { hookSpeculation } from "./speculate.ts";
import { tuneThreads } from "./tune-threads.ts";
import { createUncleared } from "./uncleared-buffers.ts";

/** Two threads: what a client sends may take long, and must not delay prompts that need the model's template only. */
type Preparation = {
  readonly forModel: PreparationThread;
  readonly forClients: PreparationThread;
};

/** A model in memory, with the kind of context that its purpose needs. */
export type LoadedModel = {
  readonly llama: Llama;
  readonly model: LlamaModel;
  readonly description: EngineDescription;
  /** Render templates and build grammars, so that decoding does not wait for them. */
  readonly preparation: Preparation;
  /** Computed once, for the first long text. */
  readonly textCuts: () => TextCuts | undefined;
  /** No token of the vocabulary has more; undefined if the tokenizer can shorten a text in other ways. */
  readonly maxTokenBytes: number | undefined;
  /** Measured while prompts are evaluated, used to share batches. */
  readonly speed: PrefillSpeed;
  /** The current number of threads, which depends on the load of the machine. */
  readonly threads: () => number;
  readonly context: ModelContext;
};

export async function loadModel(
  plan: LoadPlan,
  onProgress: (fraction: number) => void,
  gpuBackend?: GpuBuild["backend"],
): Promise<LoadedModel> {
  try {
    const cores = new FreeCores();
    // Native code opens the file only after all its metadata have been validated.
    const file = await inspectModelFile(plan.modelPath);
    const { llama, describeGpu } = await openLlama(plan, gpuBackend);
    if (llama.gpu === false) skipEstimates();
    const model = await llama.loadModel({
      modelPath: plan.modelPath,
      useMmap: plan.memoryMap ?? true,
      onLoadProgress: onProgress,
      ...(plan.gpuLayers === undefined ? {} : { gpuLayers: plan.gpuLayers }),
    });
    const templates = templateTextsOf(file, plan.goTemplate);
    const preparation = startPreparation({ templates, specialTokens: readSpecialTokens(model) });
    const chatTemplate = createTemplateParser(templates);
    const speed = new PrefillSpeed();
    let batchTokens = 0;
    const context = await createContext(model, {
      ...plan,
      sharing: {
        tokensWhileShared: () => speed.sharedTokens,
        tokensOfStep: (isAlone) => speed.stepTokens(isAlone),
        onShared: (tokens) => void (batchTokens = tokens),
      },
    });
    const { threads: fixedThreads } = plan;
    const threads =
      fixedThreads === undefined
        ? await tuneThreads({ context, cores, batchTokens: () => batchTokens })
        : () => fixedThreads;
    return {
      llama,
      model,
      context,
      speed,
      preparation,
      maxTokenBytes: findMaxTokenBytes(file),
      textCuts: once(() => findTextCuts(file.metadata)),
      threads,
      description: {
        ...describe(model, { plan, file, chatTemplate, context, threads: threads() }),
        ...describeGpu(),
      },
    };
  } catch (error) {
    throw toLoadFailure(error);
  }
}

/**
 * The binding estimates what a model and its context need by creating both without memory, which takes as long as
 * reading the vocabulary twice more. It only has a use for that if it chooses the layers for a GPU; the server has its
 * own estimate.
 */
function skipEstimates(): void {
  GgufInsights.prototype.estimateModelResourceRequirementsV2 = estimateNothing;
  GgufInsights.prototype.estimateContextResourceRequirementsV2 = estimateNothing;
}

async function estimateNothing() {
  return { cpuRam: 0, gpuVram: 0 };
}

async function openLlama(
  { gpuLayers }: LoadPlan,
  backend: GpuBuild["backend"] | undefined,
): Promise<{ readonly llama: Llama; readonly describeGpu: () => Partial<EngineDescription> }> {
  const options = {
    build: "never",
    // Disables the binding's own limit, which divides threads between contexts: there is only one here.
    maxThreads: 0,
    logLevel: LlamaLogLevel.error,
    logger: () => undefined,
  } as const;
  if (backend !== undefined && gpuLayers !== 0) {
    const { openGpu } = await import("./open-gpu.ts");
    const { llama, describe: describeGpu } = await openGpu(backend, options);
    return { llama, describeGpu };
  }
  const llama = await getLlama({ ...options, gpu: gpuLayers === 0 ? false : "auto" });
  return { llama, describeGpu: () => ({}) };
}

function once<Value>(compute: () => Value): () => Value {
  let computed: { readonly value: Value } | undefined;
  return () => (computed ??= { value: compute() }).value;
}

/** The thread for clients starts with their first grammar or template. */
function startPreparation(options: PreparationOptions): Preparation {
  const forModel = new PreparationThread(options);
  forModel.start();
  return { forModel, forClients: new PreparationThread(options) };
}

function readSpecialTokens({ tokens, fileInfo }: LlamaModel): SpecialTokens {
  return {
    beginning: tokens.bosString ?? "",
    end: tokens.eosString ?? "",
    addsBeginning: tokens.shouldPrependBosToken,
    addsEnd: fileInfo.metadata.tokenizer?.ggml?.add_eos_token === true,
  };
}

/** WordPiece and Unigram tokenizers drop white space, so that a text of any length can have few tokens. */
function findMaxTokenBytes({ metadata }: ModelFile): number | undefined {
  const tokenizer = metadata.get("tokenizer.ggml.model")?.value;
  const keepsText = tokenizer === "gpt2" || tokenizer === "llama";
  const tokens = metadata.get("tokenizer.ggml.tokens")?.value;
  return keepsText && typeof tokens === "object" && tokens.kind === "strings"
    ? tokens.maxStringBytes
    : undefined;
}

type ContextPlan = LoadPlan & { readonly sharing: BatchSharingOptions };

async function createContext(model: LlamaModel, plan: ContextPlan): Promise<ModelContext> {
  const size = {
    contextSize: plan.contextTokens,
    ...(plan.threads === undefined ? {} : { threads: plan.threads }),
  };
  switch (plan.purpose) {
    case "embed":
      return { purpose: "embed", context: await model.createEmbeddingContext(size) };
    case "rank":
      return { purpose: "rank", context: await model.createRankingContext(size) };
    case "generate": {
      const findUnused = observeAllocations();
      const options = { ...size, ...generationOptions(plan) };
      const { result: context, unclearedBytes } = await createUncleared(() => model.createContext(options));
      return {
        purpose: "generate",
        context,
        sequences: Array.from({ length: context.totalSequences }, () => context.getSequence()),
        samplingSeconds: hookSampling(context, model),
        isDecoding: hookDecoding(context),
        unusedMemory: unclearedBytes === 0 ? findUnused() : undefined,
        startSpeculation: plan.speculation === "auto" ? hookSpeculation(context) : undefined,
      };
    }
  }
}

function generationOptions(plan: ContextPlan) {
  const cacheType = plan.cacheType === undefined ? undefined : cacheTypeNames[plan.cacheType];
  return {
    sequences: plan.sequences,
    batchSize: Math.min(plan.batchTokens ?? 512, plan.contextTokens),
    flashAttention: plan.flashAttention ?? ("auto" as const),
    failedCreationRemedy: false as const,
    batching: { itemPrioritizationStrategy: shareBatch(plan.sharing) },
    ...(cacheType === undefined
      ? {}
      : { experimentalKvCacheKeyType: cacheType, experimentalKvCacheValueType: cacheType }),
    ...(plan.adapters === undefined
      ? {}
      : { lora: { adapters: plan.adapters.map(({ path, scale }) => ({ filePath: path, scale })) } }),
  };
}

const cacheTypeNames = { f16: "F16", q8_0: "Q8_0", q4_0: "Q4_0" } as const;

type DescriptionInput = {
  readonly plan: LoadPlan;
  readonly file: ModelFile;
  readonly chatTemplate: () => ModelTemplate;
  readonly context: ModelContext;
  readonly threads: number;
};

function describe(
  model: LlamaModel,
  { plan, file, chatTemplate, context, threads }: DescriptionInput,
): EngineDescription {
  const generating = context.purpose === "generate" ? context.context : undefined;
  const { infill } = model.tokens;
  const template = tryChatTemplate(chatTemplate);
  const measuredMemory = measureOwnMemory();
  const hasInfillTokens = infill.prefix !== null && infill.suffix !== null && infill.middle !== null;
  return {
    driver: "llama.cpp in a child process",
    metadata: plainMetadata(file.metadata),
    chatTemplate: file.chatTemplate ?? plan.goTemplate ?? null,
    templateCapabilities: template?.capabilities,
    trainedContextTokens: model.trainContextSize,
    contextTokens: generating?.contextSize ?? plan.contextTokens,
    sequences: generating?.totalSequences ?? 1,
    threads,
    gpu: model.gpuLayers > 0 ? model.llama.gpu : false,
    memoryBytes: { model: file.fileBytes, context: generating?.stateSize ?? 0 },
    ...(measuredMemory === undefined ? {} : { measuredMemory }),
    splitsEvents: false,
    canFillInTheMiddle: hasInfillTokens || template?.renderInsert !== undefined,
    embedsBesideGeneration: generating !== undefined,
    canSeeImages: false,
    canHearAudio: false,
  };
}

/** The binding's message if llama.cpp creates no context; with the options we use, only memory is a reason. */
const contextErrorMessage = "Failed to create context";

function toLoadFailure(error: unknown): FailureError<EngineFailure> {
  // Every FailureError of this process carries a failure of the engine port.
  if (error instanceof FailureError) return error as FailureError<EngineFailure>;
  const isContextError = error instanceof Error && error.message === contextErrorMessage;
  if (isContextError || error instanceof InsufficientMemoryError) {
    return new FailureError<EngineFailure>(
      { kind: "insufficient-memory", neededBytes: null },
      { cause: error },
    );
  }
  const reason = error instanceof Error ? error.message : String(error);
  return new FailureError<EngineFailure>({ kind: "model-invalid", reason }, { cause: error });
}
