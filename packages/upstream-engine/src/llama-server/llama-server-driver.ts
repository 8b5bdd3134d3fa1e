/**
 * @module
 * Runs llama.cpp's own HTTP server behind the engine port: one child process per loaded model, on a UNIX socket with its
 * own key, in the same sandbox as the binding's worker. Prompts and grammars are prepared by us, so that both drivers
 * produce the same output. docs/decisions/0020-llama-server-behind-the-port.md lists where it cannot be trusted.
 * Exported through the package's index.
 */

import { PreparationThread, plainMetadata, templateTextsOf } from "@hearth-and-keep/chat-templates";
import type {
  Engine,
  EngineDescription,
  EngineDriver,
  EngineFailure,
  LoadPlan,
} from "@hearth-and-keep/engine";
import {
  CrashBreaker,
  describeProtection,
  GrammarBreaker,
  inspectMachine,
  type Machine,
  removeStaleCgroups,
} from "@hearth-and-keep/engine-host";
import { FailureError } from "@hearth-and-keep/failures";
import { inspectModelFile, type ModelFile, ModelFileError } from "@hearth-and-keep/gguf";
import { type Fields, fieldsOf, listOf, numberOf, numbersOf, textOf } from "../wire/json-fields.ts";
import { ConstrainedRequests } from "./blame-grammars.ts";
import { countWithMedia } from "./count-with-media.ts";
import { embedTexts, rankDocuments, readSurroundingTokens, type SurroundingTokens } from "./embed.ts";
import { type GenerateDependencies, generate } from "./generate.ts";
import { canSplitTexts, readModelFacts, specialTokensOf } from "./model-facts.ts";
import { memoryOfProcess } from "./process-memory.ts";
import type { LlamaServerProgram } from "./program.ts";
import { createPrompts, notSupported } from "./prompts.ts";
import { ServerSlotPool } from "./slot-pool.ts";
import { type SupervisedEngine, superviseEngine } from "./supervise-engine.ts";

export type LlamaServerDriverOptions = {
  readonly program: LlamaServerProgram;
  /** Called with a sentence for the log when a model works, but not as it should. */
  readonly onWarning?: (message: string) => void;
  readonly machine?: Machine;
  readonly breaker?: CrashBreaker;
};

const never = new AbortController().signal;
/** Reading the properties of a loaded model takes milliseconds. */
const maxSetupSeconds = 60;

export function createLlamaServerDriver(options: LlamaServerDriverOptions): EngineDriver {
  const { program, breaker = new CrashBreaker(), machine = inspectMachine() } = options;
  const grammarBreaker = new GrammarBreaker();
  if (machine.cgroup !== undefined) removeStaleCgroups(machine.cgroup);
  return {
    usesGpu: machine.gpuDevices.length > 0,
    async load(plan, loadOptions) {
      breaker.throwIfQuarantined(plan.modelPath);
      const file = await inspectFiles(plan);
      const process = { program, machine, splitsTexts: canSplitTexts(file) };
      const engine = await superviseEngine(plan, { ...loadOptions, ...process }).catch((error: unknown) => {
        breaker.recordFailure(plan.modelPath, engineFailureOf(error));
        throw error;
      });
      void engine.exited.then((failure) => breaker.recordFailure(plan.modelPath, failure));
      const timeout = AbortSignal.timeout(maxSetupSeconds * 1000);
      try {
        const signal = AbortSignal.any([loadOptions.signal, timeout]);
        const constrained = new ConstrainedRequests(grammarBreaker, engine.exited);
        return await setUpEngine(engine, { plan, file, machine, signal, constrained });
      } catch (error) {
        await engine.stop();
        throw error === timeout.reason ? loadTimedOut() : error;
      }
    },
  };
}

function loadTimedOut(): FailureError<EngineFailure> {
  return new FailureError<EngineFailure>({ kind: "load-timed-out", seconds: maxSetupSeconds });
}

function engineFailureOf(error: unknown): EngineFailure | undefined {
  // The supervisor throws failures of the engine port only.
  return error instanceof FailureError ? (error.failure as EngineFailure) : undefined;
}

/** Native code opens files only after their headers have been validated completely. */
async function inspectFiles(plan: LoadPlan): Promise<ModelFile> {
  try {
    const others = [plan.projectorPath, ...(plan.adapters ?? []).map(({ path }) => path)];
    const [file] = await Promise.all([
      inspectModelFile(plan.modelPath),
      ...others.filter((path) => path !== undefined).map((path) => inspectModelFile(path)),
    ]);
    return file;
  } catch (cause) {
    const reason = cause instanceof ModelFileError ? cause.message : "The file cannot be read";
    throw new FailureError<EngineFailure>({ kind: "model-invalid", reason }, { cause });
  }
}

type SetupContext = {
  readonly constrained: ConstrainedRequests;
  readonly plan: LoadPlan;
  readonly file: ModelFile;
  readonly machine: Machine;
  readonly signal: AbortSignal;
};

async function setUpEngine(engine: SupervisedEngine, context: SetupContext): Promise<Engine> {
  const { plan, file, machine, signal, constrained } = context;
  const templates = templateTextsOf(file, plan.goTemplate);
  const properties = await readProperties(engine, signal);
  const specialTokens = specialTokensOf(file, properties);
  const thread = new PreparationThread({ templates, specialTokens });
  void engine.exited.then(() => thread[Symbol.asyncDispose]());
  const texts = Object.values(templates).filter((text) => text !== null);
  const facts = readModelFacts(file, texts);
  const { canSee, canHear, mediaMarker } = properties;
  const hasMarker = mediaMarker !== undefined;
  const support = { canSeeImages: hasMarker && canSee, canHearAudio: hasMarker && canHear };
  const prompts = createPrompts({
    engine,
    thread,
    facts,
    addsBeginning: properties.addsBeginning,
    mediaMarker,
    support,
  });
  const capabilities = await thread.capabilities();
  const slots = new ServerSlotPool(engine.start.slots, (id) => isIdle(engine, id));
  const { contextTokens } = properties;
  const description: EngineDescription = {
    driver: "llama.cpp's own server",
    metadata: plainMetadata(file.metadata),
    chatTemplate: file.chatTemplate ?? plan.goTemplate ?? null,
    templateCapabilities: capabilities?.template,
    trainedContextTokens: file.trainedContextTokens ?? contextTokens,
    contextTokens,
    sequences: engine.start.slots,
    threads: engine.start.threads,
    gpu: plan.gpuLayers !== 0 && machine.gpuDevices.length > 0 ? "gpu" : false,
    memoryBytes: readMemory(engine, file),
    splitsEvents: false,
    canFillInTheMiddle: facts.infill !== undefined || capabilities?.fillsIn === true,
    ...support,
    protection: describeProtection(machine),
  };
  const dependencies = { engine, prompts, thread, facts, slots, speed: engine.speed, contextTokens };
  const surrounding = plan.purpose === "embed" ? await readSurroundingTokens(engine, signal) : undefined;
  return createEngine(dependencies, {
    constrained,
    plan,
    description,
    surrounding,
    addsBeginning: properties.addsBeginning,
  });
}

type EngineOptions = {
  readonly constrained: ConstrainedRequests;
  readonly plan: LoadPlan;
  readonly description: EngineDescription;
  /** Undefined unless the purpose is embedding. */
  readonly surrounding: SurroundingTokens | undefined;
  readonly addsBeginning: boolean;
};

function createEngine(
  dependencies: GenerateDependencies,
  { constrained, plan, description, surrounding, addsBeginning }: EngineOptions,
): Engine {
  const { engine, prompts, contextTokens } = dependencies;
  return {
    describe: () => description,
    generate(request, signal) {
      if (plan.purpose !== "generate") throw notSupported("generation");
      return constrained.run(request, () => generate(request, signal, dependencies));
    },
    async embed(request, signal) {
      if (surrounding === undefined) throw notSupported("embeddings");
      return embedTexts(request, { engine, surrounding, contextTokens, signal });
    },
    async rank(query, documents, signal) {
      if (plan.purpose !== "rank") throw notSupported("ranking");
      return rankDocuments({ query, documents }, engine, signal);
    },
    tokenize: (text, signal = never) => prompts.tokenize(text, signal),
    render: async (conversation) => prompts.render(conversation),
    async count(conversation, signal = never) {
      const prompt = await prompts.prompt({ type: "conversation", conversation }, signal);
      return prompt.type === "tokens"
        ? prompt.tokens.length
        : countWithMedia(prompt, { engine, prompts, addsBeginning, signal });
    },
    unload: () => engine.stop(),
    closed: engine.exited,
    [Symbol.asyncDispose]: () => engine.stop(),
  };
}

type ServerProperties = {
  readonly beginning: string;
  readonly end: string;
  readonly addsBeginning: boolean;
  readonly contextTokens: number;
  readonly canSee: boolean;
  readonly canHear: boolean;
  readonly mediaMarker: string | undefined;
};

async function readProperties(engine: SupervisedEngine, signal: AbortSignal): Promise<ServerProperties> {
  const properties = fieldsOf(await engine.request({ path: "/props" }, signal));
  const body = { content: "", add_special: true };
  const { tokens } = fieldsOf(await engine.request({ path: "/tokenize", body }, signal));
  const [slot] = await readSlots(engine, signal);
  const modalities = fieldsOf(properties["modalities"]);
  return {
    beginning: textOf(properties["bos_token"]),
    end: textOf(properties["eos_token"]),
    addsBeginning: numbersOf(tokens).length > 0,
    contextTokens: numberOf(slot?.["n_ctx"]) ?? engine.start.contextTokens,
    canSee: modalities["vision"] === true,
    canHear: modalities["audio"] === true,
    mediaMarker: textOf(properties["media_marker"]) || undefined,
  };
}

async function isIdle(engine: SupervisedEngine, id: number): Promise<boolean> {
  try {
    const slot = (await readSlots(engine, never)).find((each) => each["id"] === id);
    return slot?.["is_processing"] === false;
  } catch (error) {
    if (engine.gone.aborted) throw error;
    // A failed request counts as busy: giving up here would leak the slot.
    return false;
  }
}

async function readSlots(engine: SupervisedEngine, signal: AbortSignal): Promise<readonly Fields[]> {
  return listOf(await engine.request({ path: "/slots" }, signal)).map(fieldsOf);
}

/** Read from the process: weights are either memory-mapped, or copied into its own pages next to the contexts. */
function readMemory(engine: SupervisedEngine, { fileBytes }: ModelFile): EngineDescription["memoryBytes"] {
  const memory = memoryOfProcess(engine.pid);
  if (memory === undefined) return { model: fileBytes, context: 0 };
  const own = engine.start.memoryMap ? memory.ownBytes : memory.ownBytes - fileBytes;
  return { model: fileBytes, context: Math.max(0, own) };
}
