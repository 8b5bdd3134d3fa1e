import type { ModelTemplate } from "@hearth-and-keep/chat-templates";
import {
  plainMetadata,
  templateIfSound,
  templateReader,
  templateTextsOf,
} from "@hearth-and-keep/chat-templates";
import type { EngineDescription, EngineFailure, LoadPlan } from "@hearth-and-keep/engine";
import { FailureError } from "@hearth-and-keep/failures";
import { inspectModelFile, type ModelFile } from "@hearth-and-keep/gguf";
import {
  getLlama,
  InsufficientMemoryError,
  type Llama,
  LlamaLogLevel,
  type LlamaModel,
} from "node-llama-cpp";
import { tuneThreads } from "./measure-threads.ts";
import type { ModelContext } from "./model-context.ts";
import { watchChoosing } from "./native-context.ts";
import { ReadingSpeed } from "./read-prompt.ts";
import { type SharingParts, shareBatch } from "./share-batch.ts";

/** A model in memory with the one kind of context its purpose needs. */
export type HostedModel = {
  readonly llama: Llama;
  readonly model: LlamaModel;
  readonly description: EngineDescription;
  /** Read when it is first asked for; throws `template-failed` when the model has none that can be read. */
  readonly chatTemplate: () => ModelTemplate;
  /** Learned while prompts are read, used when batches are shared. */
  readonly speed: ReadingSpeed;
  /** How many threads compute now; it changes with what else the machine does. */
  readonly threads: () => number;
  readonly context: ModelContext;
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
    const chatTemplate = templateReader(templateTextsOf(file, plan.goTemplate));
    const speed = new ReadingSpeed();
    let batchTokens = 0;
    const context = await createContext(model, {
      ...plan,
      sharing: {
        tokensWhileShared: () => speed.sharedTokens,
        onShared: (tokens) => void (batchTokens = tokens),
      },
    });
    const { threads: wanted } = plan;
    const threads =
      wanted === undefined ? await tuneThreads({ context, batchTokens: () => batchTokens }) : () => wanted;
    return {
      llama,
      model,
      context,
      speed,
      chatTemplate,
      threads,
      description: describe(model, { plan, file, chatTemplate, context, threads: threads() }),
    };
  } catch (problem) {
    throw nameLoadProblem(problem);
  }
}

type ContextPlan = LoadPlan & { readonly sharing: SharingParts };

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
      const context = await model.createContext({ ...size, ...generationOptions(plan) });
      const sequences = Array.from({ length: context.totalSequences }, () => context.getSequence());
      return { purpose: "generate", context, sequences, choosingSeconds: watchChoosing(context, model) };
    }
  }
}

function generationOptions(plan: ContextPlan) {
  const cacheType = plan.cacheType === undefined ? undefined : cacheTypeNames[plan.cacheType];
  return {
    sequences: plan.sequences,
    batchSize: Math.min(512, plan.contextTokens),
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

type Loaded = {
  readonly plan: LoadPlan;
  readonly file: ModelFile;
  readonly chatTemplate: () => ModelTemplate;
  readonly context: ModelContext;
  readonly threads: number;
};

function describe(
  model: LlamaModel,
  { plan, file, chatTemplate, context, threads }: Loaded,
): EngineDescription {
  const generating = context.purpose === "generate" ? context.context : undefined;
  const { infill } = model.tokens;
  const template = templateIfSound(chatTemplate);
  const hasInfillTokens = infill.prefix !== null && infill.suffix !== null && infill.middle !== null;
  return {
    driver: "llama.cpp in a child process",
    metadata: plainMetadata(file.metadata),
    chatTemplate: file.chatTemplate ?? plan.goTemplate ?? null,
    templateAbilities: template?.abilities,
    trainedContextTokens: model.trainContextSize,
    contextTokens: generating?.contextSize ?? plan.contextTokens,
    sequences: generating?.totalSequences ?? 1,
    threads,
    gpu: model.gpuLayers > 0 ? model.llama.gpu : false,
    memoryBytes: { model: file.fileBytes, context: generating?.stateSize ?? 0 },
    splitsEvents: false,
    canFillInTheMiddle: hasInfillTokens || template?.renderInsert !== undefined,
    canSeeImages: false,
  };
}

function nameLoadProblem(problem: unknown): FailureError<EngineFailure> {
  if (problem instanceof InsufficientMemoryError) {
    return new FailureError<EngineFailure>({ kind: "memory-lacking", neededBytes: null }, { cause: problem });
  }
  const reason = problem instanceof Error ? problem.message : String(problem);
  return new FailureError<EngineFailure>({ kind: "model-invalid", reason }, { cause: problem });
}
