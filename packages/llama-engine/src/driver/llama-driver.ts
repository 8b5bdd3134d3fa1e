/**
 * @module
 * The server's side of a model in a child process: starts and supervises the worker and implements the engine port on
 * top of it. A worker that crashes, hangs or is unloaded fails each pending call with one typed failure and does not
 * affect the server. Exported through the package's index.
 */
import { basename } from "node:path";
import type { Engine, EngineDriver, EngineFailure, LoadOptions, LoadPlan } from "@hearth-and-keep/engine";
import {
  CrashBreaker,
  GrammarBreaker,
  inspectMachine,
  type Machine,
  removeStaleCgroups,
} from "@hearth-and-keep/engine-host";
import { FailureError } from "@hearth-and-keep/failures";
import type { GpuBuild } from "../channel/messages.ts";
import { decodeVector } from "../channel/vectors.ts";
import { withProcessorFallback } from "./gpu-fallback.ts";
import type { PromptStore } from "./prompt-exchange.ts";
import { type SupervisedWorker, superviseWorker } from "./supervise-worker.ts";

export type LlamaDriverOptions = {
  readonly breaker?: CrashBreaker;
  /** Called with a sentence for the log when a model works, but not as it should. */
  readonly onWarning?: (message: string) => void;
  readonly machine?: Machine;
  /** A build of the binding made on this machine; absent uses the prebuilt one. */
  readonly buildFolder?: string;
  /** A build for a GPU; models run on the CPU if the GPU fails. */
  readonly gpu?: GpuBuild & {
    /** Numbers of the devices to use, separated by commas; absent uses every GPU, but no software device. */
    readonly devices?: string | undefined;
  };
  /** Called when the GPU was lost while a model ran on it. */
  readonly onGpuLost?: (reason: string) => void;
  /** A bundle of the worker's program, which starts faster than a clone's modules. */
  readonly workerProgram?: string;
  /** Keeps the states of prompts beyond the processes of models; absent keeps none. */
  readonly promptStore?: PromptStore;
};

/** Runs llama.cpp through its Node binding, in one child process per loaded model. */
export function createLlamaDriver(options: LlamaDriverOptions = {}): EngineDriver {
  const { breaker = new CrashBreaker(), onWarning = () => undefined, machine = inspectMachine() } = options;
  const { buildFolder, workerProgram, promptStore, gpu, onGpuLost = () => undefined } = options;
  const grammarBreaker = new GrammarBreaker();
  if (machine.cgroup !== undefined) removeStaleCgroups(machine.cgroup);
  const start = async (plan: LoadPlan, loadOptions: LoadOptions): Promise<SupervisedWorker> => {
    const worker = await superviseWorker(plan, {
      ...loadOptions,
      machine,
      buildFolder,
      workerProgram,
      promptStore,
      gpu,
      onStall: (suspects) => grammarBreaker.recordStall(suspects),
    }).catch((error: unknown) => {
      if (error instanceof FailureError) {
        // The supervisor throws failures of the engine port only.
        breaker.recordFailure(plan.modelPath, error.failure as EngineFailure);
      }
      throw error;
    });
    void worker.exited.then((failure) => breaker.recordFailure(plan.modelPath, failure));
    return worker;
  };
  const open = gpu === undefined ? start : withProcessorFallback(start, { onWarning, onGpuLost });
  return {
    usesGpu: gpu !== undefined || machine.gpuDevices.length > 0 || process.platform === "darwin",
    async load(plan, loadOptions) {
      breaker.throwIfQuarantined(plan.modelPath);
      const worker = await open(plan, loadOptions);
      const warning = gpu === undefined ? describeIdleGpu(plan, { worker, machine }) : undefined;
      if (warning !== undefined) onWarning(warning);
      return createEngine(worker, grammarBreaker);
    },
  };
}

/** A plan that requests the CPU causes no warning. */
function describeIdleGpu(
  { modelPath, gpuLayers }: LoadPlan,
  { worker, machine }: { readonly worker: SupervisedWorker; readonly machine: Machine },
): string | undefined {
  const [device] = machine.gpuDevices;
  if (device === undefined || gpuLayers === 0 || worker.describe().gpu !== false) return undefined;
  return `The model "${basename(modelPath)}" runs on the CPU although there is a GPU at "${device.path}"`;
}

/** A worker that does not keep its prompts in time is stopped all the same. */
const maxKeepMilliseconds = 10_000;

function createEngine(worker: SupervisedWorker, grammarBreaker: GrammarBreaker): Engine {
  const never = new AbortController().signal;
  const { calls } = worker;
  const unload = async (): Promise<void> => {
    if (worker.keepsPrompts) {
      const inTime = AbortSignal.timeout(maxKeepMilliseconds);
      await calls.call("keep-prompts", (id) => ({ type: "keep-prompts", id }), inTime).catch(() => 0);
    }
    await worker.stop();
  };
  return {
    describe: () => worker.describe(),
    async *generate(request, signal) {
      grammarBreaker.throwIfRejected(request);
      yield* calls.generate(request, signal);
    },
    async embed(request, signal) {
      const { vectors, tokens } = await calls.call("embed", (id) => ({ type: "embed", id, request }), signal);
      return { vectors: vectors.map(decodeVector), tokens };
    },
    rank: (query, documents, signal) =>
      calls.call("rank", (id) => ({ type: "rank", id, query, documents }), signal),
    tokenize: (text) => calls.call("tokenize", (id) => ({ type: "tokenize", id, text }), never),
    render: (conversation) => calls.call("render", (id) => ({ type: "render", id, conversation }), never),
    count: (conversation) => calls.call("count", (id) => ({ type: "count", id, conversation }), never),
    unload,
    closed: worker.exited,
    [Symbol.asyncDispose]: unload,
  };
}
