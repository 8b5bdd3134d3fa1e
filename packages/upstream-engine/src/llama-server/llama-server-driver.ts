/**
 * @module
 * llama.cpp's own HTTP server behind the engine port: one child process for each loaded model, on a UNIX socket with
 * a key of its own, locked in as the binding's worker is. Prompts and grammars are made by us, so that both drivers
 * answer alike. What it cannot be trusted with is written in docs/decisions/0020-llama-server-behind-the-port.md.
 * Entered through the package's index.
 */

import { PreparingThread, plainMetadata, templateTextsOf } from "@hearth-and-keep/chat-templates";
import type {
  Engine,
  EngineDescription,
  EngineDriver,
  EngineFailure,
  LoadPlan,
} from "@hearth-and-keep/engine";
import { CrashBreaker, inspectMachine, type Machine, removeStaleCgroups } from "@hearth-and-keep/engine-host";
import { FailureError } from "@hearth-and-keep/failures";
import { inspectModelFile, type ModelFile, ModelFileError } from "@hearth-and-keep/gguf";
import { type Fields, fieldsOf, listOf, numberOf, numbersOf, textOf } from "../wire/json-fields.ts";
import { countWithImages } from "./count-with-images.ts";
import { embedTexts, type Frame, rankDocuments, readFrame } from "./embed.ts";
import { type GenerateDependencies, generate } from "./generate.ts";
import { canSplitTexts, readModelFacts, specialTokensOf } from "./model-facts.ts";
import { memoryOfProcess } from "./process-memory.ts";
import type { LlamaServerProgram } from "./program.ts";
import { createPrompts, notSupported } from "./prompts.ts";
import { ServerSlotPool } from "./slot-pool.ts";
import { type SupervisedEngine, superviseEngine } from "./supervise-engine.ts";

export type LlamaServerDriverOptions = {
  readonly program: LlamaServerProgram;
  /** Hears, in a plain sentence, what someone should look at though the model works. */
  readonly onWarning?: (sentence: string) => void;
  readonly machine?: Machine;
  readonly breaker?: CrashBreaker;
};

const never = new AbortController().signal;
/** What a loaded model is asked about itself takes milliseconds. */
const openingSeconds = 60;

export function createLlamaServerDriver(parts: LlamaServerDriverOptions): EngineDriver {
  const { program, breaker = new CrashBreaker(), machine = inspectMachine() } = parts;
  if (machine.cgroup !== undefined) removeStaleCgroups(machine.cgroup);
  return {
    async load(plan, loadParts) {
      breaker.throwIfQuarantined(plan.modelPath);
      const file = await inspectFiles(plan);
      const process = { program, machine, splitsTexts: canSplitTexts(file) };
      const engine = await superviseEngine(plan, { ...loadParts, ...process }).catch((problem: unknown) => {
        breaker.recordFailure(plan.modelPath, engineFailureOf(problem));
        throw problem;
      });
      void engine.ended.then((failure) => breaker.recordFailure(plan.modelPath, failure));
      const enough = AbortSignal.timeout(openingSeconds * 1000);
      try {
        const signal = AbortSignal.any([loadParts.signal, enough]);
        return await openEngine(engine, { plan, file, machine, signal });
      } catch (problem) {
        await engine.stop();
        throw problem === enough.reason ? tooSlow() : problem;
      }
    },
  };
}

function tooSlow(): FailureError<EngineFailure> {
  return new FailureError<EngineFailure>({ kind: "load-timed-out", seconds: openingSeconds });
}

function engineFailureOf(problem: unknown): EngineFailure | undefined {
  // The supervisor throws the port's failures only.
  return problem instanceof FailureError ? (problem.failure as EngineFailure) : undefined;
}

/** Native code opens files only after their whole tables of contents were found sound. */
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

type Opening = {
  readonly plan: LoadPlan;
  readonly file: ModelFile;
  readonly machine: Machine;
  readonly signal: AbortSignal;
};

async function openEngine(engine: SupervisedEngine, opening: Opening): Promise<Engine> {
  const { plan, file, machine, signal } = opening;
  const templates = templateTextsOf(file, plan.goTemplate);
  const told = await askProperties(engine, signal);
  const specialTokens = specialTokensOf(file, told);
  const thread = new PreparingThread({ templates, specialTokens });
  void engine.ended.then(() => thread[Symbol.asyncDispose]());
  const texts = Object.values(templates).filter((text) => text !== null);
  const facts = readModelFacts(file, texts);
  const mediaMarker = told.canSee ? told.mediaMarker : undefined;
  const prompts = createPrompts({ engine, thread, facts, addsBeginning: told.addsBeginning, mediaMarker });
  const abilities = await thread.abilities();
  const slots = new ServerSlotPool(engine.start.slots, (id) => isIdle(engine, id));
  const { contextTokens } = told;
  const description: EngineDescription = {
    driver: "llama.cpp's own server",
    metadata: plainMetadata(file.metadata),
    chatTemplate: file.chatTemplate ?? plan.goTemplate ?? null,
    templateCapabilities: abilities?.template,
    trainedContextTokens: file.trainedContextTokens ?? contextTokens,
    contextTokens,
    sequences: engine.start.slots,
    threads: engine.start.threads,
    gpu: plan.gpuLayers !== 0 && machine.gpuDevices.length > 0 ? "gpu" : false,
    memoryBytes: readMemory(engine, file),
    splitsEvents: false,
    canFillInTheMiddle: facts.infill !== undefined || abilities?.fillsIn === true,
    canSeeImages: mediaMarker !== undefined,
  };
  const parts = { engine, prompts, thread, facts, slots, speed: engine.speed, contextTokens };
  const frame = plan.purpose === "embed" ? await readFrame(engine, signal) : undefined;
  return engineOver(parts, { plan, description, frame, addsBeginning: told.addsBeginning });
}

type Face = {
  readonly plan: LoadPlan;
  readonly description: EngineDescription;
  /** Undefined unless the plan is to embed. */
  readonly frame: Frame | undefined;
  readonly addsBeginning: boolean;
};

function engineOver(parts: GenerateDependencies, { plan, description, frame, addsBeginning }: Face): Engine {
  const { engine, prompts, contextTokens } = parts;
  return {
    describe: () => description,
    generate(request, signal) {
      if (plan.purpose !== "generate") throw notSupported("generation");
      return generate(request, signal, parts);
    },
    async embed(request, signal) {
      if (frame === undefined) throw notSupported("embeddings");
      return embedTexts(request, { engine, frame, contextTokens, signal });
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
        : countWithImages(prompt, { engine, prompts, addsBeginning, signal });
    },
    unload: () => engine.stop(),
    closed: engine.ended,
    [Symbol.asyncDispose]: () => engine.stop(),
  };
}

type Told = {
  readonly beginning: string;
  readonly end: string;
  readonly addsBeginning: boolean;
  readonly contextTokens: number;
  readonly canSee: boolean;
  readonly mediaMarker: string | undefined;
};

async function askProperties(engine: SupervisedEngine, signal: AbortSignal): Promise<Told> {
  const properties = fieldsOf(await engine.ask({ path: "/props" }, signal));
  const body = { content: "", add_special: true };
  const { tokens } = fieldsOf(await engine.ask({ path: "/tokenize", body }, signal));
  const [slot] = await askSlots(engine, signal);
  return {
    beginning: textOf(properties["bos_token"]),
    end: textOf(properties["eos_token"]),
    addsBeginning: numbersOf(tokens).length > 0,
    contextTokens: numberOf(slot?.["n_ctx"]) ?? engine.start.contextTokens,
    canSee: fieldsOf(properties["modalities"])["vision"] === true,
    mediaMarker: textOf(properties["media_marker"]) || undefined,
  };
}

async function isIdle(engine: SupervisedEngine, id: number): Promise<boolean> {
  try {
    const slot = (await askSlots(engine, never)).find((each) => each["id"] === id);
    return slot?.["is_processing"] === false;
  } catch (problem) {
    if (engine.gone.aborted) throw problem;
    // Refused this once: a slot that is never asked for again would be lost.
    return false;
  }
}

async function askSlots(engine: SupervisedEngine, signal: AbortSignal): Promise<readonly Fields[]> {
  return listOf(await engine.ask({ path: "/slots" }, signal)).map(fieldsOf);
}

/** Read back from the process: weights are mapped, or copied into pages of its own beside its contexts. */
function readMemory(engine: SupervisedEngine, { fileBytes }: ModelFile): EngineDescription["memoryBytes"] {
  const memory = memoryOfProcess(engine.pid);
  if (memory === undefined) return { model: fileBytes, context: 0 };
  const own = engine.start.memoryMap ? memory.ownBytes : memory.ownBytes - fileBytes;
  return { model: fileBytes, context: Math.max(0, own) };
}
