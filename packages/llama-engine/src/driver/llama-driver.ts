/**
 * @module
 * The server's side of a model in a child process: starts and supervises the worker and implements the engine port on
 * top of it. A worker that crashes, hangs or is unloaded fails each pending call with one typed failure and does not
 * affect the server. Exported through the package's index.
 */
import { basename } from "node:path";
import type { Engine, EngineDriver, EngineFailure, LoadPlan } from "@hearth-and-keep/engine";
import {
  CrashBreaker,
  GrammarBreaker,
  inspectMachine,
  type Machine,
  removeStaleCgroups,
} from "@hearth-and-keep/engine-host";
import { FailureError } from "@hearth-and-keep/failures";
import { decodeVector } from "../channel/vectors.ts";
import { type SupervisedWorker, superviseWorker } from "./supervise-worker.ts";

export type LlamaDriverOptions = {
  readonly breaker?: CrashBreaker;
  /** Called with a sentence for the log when a model works, but not as it should. */
  readonly onWarning?: (message: string) => void;
  readonly machine?: Machine;
  /** A build of the binding made on this machine; absent uses the prebuilt one. */
  readonly buildFolder?: string;
  /** A bundle of the worker's program, which starts faster than a clone's modules. */
  readonly workerProgram?: string;
};

/** Runs llama.cpp through its Node binding, in one child process per loaded model. */
export function createLlamaDriver(options: LlamaDriverOptions = {}): EngineDriver {
  const { breaker = new CrashBreaker(), onWarning = () => undefined, machine = inspectMachine() } = options;
  const { buildFolder, workerProgram } = options;
  const grammarBreaker = new GrammarBreaker();
  if (machine.cgroup !== undefined) removeStaleCgroups(machine.cgroup);
  return {
    async load(plan, loadOptions) {
      breaker.throwIfQuarantined(plan.modelPath);
      const worker = await superviseWorker(plan, {
        ...loadOptions,
        machine,
        buildFolder,
        workerProgram,
        onStall: (suspects) => grammarBreaker.recordStall(suspects),
      }).catch((error: unknown) => {
        if (error instanceof FailureError) {
          // The supervisor throws failures of the engine port only.
          breaker.recordFailure(plan.modelPath, error.failure as EngineFailure);
        }
        throw error;
      });
      const warning = describeIdleGpu(plan, { worker, machine });
      if (warning !== undefined) onWarning(warning);
      void worker.exited.then((failure) => breaker.recordFailure(plan.modelPath, failure));
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

function createEngine(worker: SupervisedWorker, grammarBreaker: GrammarBreaker): Engine {
  const never = new AbortController().signal;
  const { calls } = worker;
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
    unload: () => worker.stop(),
    closed: worker.exited,
    [Symbol.asyncDispose]: () => worker.stop(),
  };
}
