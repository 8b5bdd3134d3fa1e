import { FailureError } from "@hearth-and-keep/failures";
import { inspectModelFile, type ModelFile } from "@hearth-and-keep/gguf";
import {
  getLlama,
  InsufficientMemoryError,
  type Llama,
  type LlamaContext,
  type LlamaEmbeddingContext,
  LlamaLogLevel,
  type LlamaModel,
  type LlamaRankingContext,
} from "node-llama-cpp";
import type { EngineDescription, EngineFailure, LoadPlan } from "../port/engine.ts";
import type { TemplateSources } from "../templates/chat-template.ts";
import { plainMetadata } from "./plain-metadata.ts";
import { ReadingSpeed } from "./read-prompt.ts";
import { shareBatch } from "./share-batch.ts";

/** A model in memory with the one kind of context its purpose needs. */
export type HostedModel = {
  readonly llama: Llama;
  readonly model: LlamaModel;
  readonly description: EngineDescription;
  readonly templates: TemplateSources;
  /** Learned while prompts are read, used when batches are shared. */
  readonly speed: ReadingSpeed;
  readonly context:
    | { readonly purpose: "generate"; readonly context: LlamaContext }
    | { readonly purpose: "embed"; readonly context: LlamaEmbeddingContext }
    | { readonly purpose: "rank"; readonly context: LlamaRankingContext };
};

export async function loadModel(plan: LoadPlan, onProgress: (share: number) => void): Promise<HostedModel> {
  try {
    // Native code opens the file only after its whole table of contents was found sound.
    const file = await inspectModelFile(plan.modelPath);
    const llama = await getLlama({
      gpu: plan.gpuLayers === 0 ? false : "auto",
      build: "never",
      // Our own count is used as it is; the binding would share its threads between contexts we do not have.
      maxThreads: 0,
      logLevel: LlamaLogLevel.error,
      logger: () => undefined,
    });
    const model = await llama.loadModel({
      modelPath: plan.modelPath,
      useMmap: plan.memoryMap ?? true,
      onLoadProgress: onProgress,
      ...(plan.gpuLayers === undefined ? {} : { gpuLayers: plan.gpuLayers }),
    });
    const threads = plan.threads ?? llama.cpuMathCores;
    const speed = new ReadingSpeed();
    const context = await createContext(model, { ...plan, threads, speed });
    return {
      llama,
      model,
      context,
      speed,
      templates: templatesOf(file),
      description: describe(model, { plan, file, context, threads }),
    };
  } catch (problem) {
    throw nameLoadProblem(problem);
  }
}

async function createContext(
  model: LlamaModel,
  plan: LoadPlan & { threads: number; speed: ReadingSpeed },
): Promise<HostedModel["context"]> {
  const size = { contextSize: plan.contextTokens, threads: plan.threads };
  switch (plan.purpose) {
    case "embed":
      return { purpose: "embed", context: await model.createEmbeddingContext(size) };
    case "rank":
      return { purpose: "rank", context: await model.createRankingContext(size) };
    case "generate":
      return {
        purpose: "generate",
        context: await model.createContext({ ...size, ...generationOptions(plan, plan.speed) }),
      };
  }
}

function generationOptions(plan: LoadPlan, speed: ReadingSpeed) {
  const cacheType = plan.cacheType === undefined ? undefined : cacheTypeNames[plan.cacheType];
  return {
    sequences: plan.sequences,
    batchSize: Math.min(512, plan.contextTokens),
    flashAttention: plan.flashAttention ?? ("auto" as const),
    failedCreationRemedy: false as const,
    batching: { itemPrioritizationStrategy: shareBatch(() => speed.sharedTokens) },
    ...(cacheType === undefined
      ? {}
      : { experimentalKvCacheKeyType: cacheType, experimentalKvCacheValueType: cacheType }),
    ...(plan.adapters === undefined
      ? {}
      : { lora: { adapters: plan.adapters.map(({ path, scale }) => ({ filePath: path, scale })) } }),
  };
}

const cacheTypeNames = { f16: "F16", q8_0: "Q8_0", q4_0: "Q4_0" } as const;

type Loaded = {
  readonly plan: LoadPlan;
  readonly file: ModelFile;
  readonly context: HostedModel["context"];
  readonly threads: number;
};

function describe(model: LlamaModel, { plan, file, context, threads }: Loaded): EngineDescription {
  const generating = context.purpose === "generate" ? context.context : undefined;
  const { infill } = model.tokens;
  return {
    driver: "llama.cpp in a child process",
    metadata: plainMetadata(model.fileInfo.metadata),
    chatTemplate: file.chatTemplate,
    trainedContextTokens: model.trainContextSize,
    contextTokens: generating?.contextSize ?? plan.contextTokens,
    sequences: generating?.totalSequences ?? 1,
    threads,
    memoryBytes: { model: file.fileBytes, context: generating?.stateSize ?? 0 },
    splitsEvents: false,
    canFillInTheMiddle: infill.prefix !== null && infill.suffix !== null && infill.middle !== null,
    canSeeImages: false,
  };
}

function templatesOf({ chatTemplate, metadata }: ModelFile): TemplateSources {
  const forTools = metadata.get("tokenizer.chat_template.tool_use");
  return { usual: chatTemplate, ...(typeof forTools === "string" ? { forTools } : {}) };
}

function nameLoadProblem(problem: unknown): FailureError<EngineFailure> {
  if (problem instanceof InsufficientMemoryError) {
    return new FailureError<EngineFailure>({ kind: "memory-lacking", neededBytes: null }, { cause: problem });
  }
  const reason = problem instanceof Error ? problem.message : String(problem);
  return new FailureError<EngineFailure>({ kind: "model-invalid", reason }, { cause: problem });
}
