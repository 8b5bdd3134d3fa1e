/**
 * @module
 * The server's side of a model in a child process: it starts the worker, watches it, and is the Engine that callers
 * see. A worker that dies, hangs or is unloaded costs its callers one typed failure each and the server nothing.
 * Entered through the package's index.
 */
import { basename } from "node:path";
import type {
  Conversation,
  Embeddings,
  Engine,
  EngineDriver,
  EngineEvent,
  EngineFailure,
  GenerateRequest,
  LoadPlan,
} from "@hearth-and-keep/engine";
import { CrashBreaker, lookAtMachine, type Machine, removeStaleCgroups } from "@hearth-and-keep/engine-host";
import { FailureError } from "@hearth-and-keep/failures";
import type { ToWorker } from "../worker/messages.ts";
import { EventQueue } from "./event-queue.ts";
import { type SupervisedWorker, superviseWorker } from "./supervise-worker.ts";

export type LlamaDriverParts = {
  readonly breaker?: CrashBreaker;
  /** Hears, in a plain sentence, what someone should look at though the model works. */
  readonly onWarning?: (sentence: string) => void;
  readonly machine?: Machine;
  /** A build of the binding made on this machine; absent takes the one that came with it. */
  readonly buildFolder?: string;
};

/** llama.cpp, one child process for each model that is loaded. */
export function createLlamaDriver(parts: LlamaDriverParts = {}): EngineDriver {
  const { breaker = new CrashBreaker(), onWarning = () => undefined, machine = lookAtMachine() } = parts;
  const { buildFolder } = parts;
  if (machine.cgroup !== undefined) removeStaleCgroups(machine.cgroup);
  return {
    async load(plan, loadParts) {
      breaker.refuseQuarantined(plan.modelPath);
      const worker = await superviseWorker(plan, { ...loadParts, machine, buildFolder }).catch(
        (problem: unknown) => {
          if (problem instanceof FailureError) {
            // The supervisor throws the port's failures only.
            breaker.recordDeath(plan.modelPath, problem.failure as EngineFailure);
          }
          throw problem;
        },
      );
      const warning = warnOfIdleGpu(plan, { worker, machine });
      if (warning !== undefined) onWarning(warning);
      void worker.ended.then((failure) => breaker.recordDeath(plan.modelPath, failure));
      return engineOver(worker);
    },
  };
}

/** A plan that asks for the processor gets it in silence. */
function warnOfIdleGpu(
  { modelPath, gpuLayers }: LoadPlan,
  { worker, machine }: { readonly worker: SupervisedWorker; readonly machine: Machine },
): string | undefined {
  const [device] = machine.gpuDevices;
  if (device === undefined || gpuLayers === 0 || worker.describe().gpu !== false) return undefined;
  return `The model "${basename(modelPath)}" runs on the processor though there is a GPU at "${device.path}"`;
}

function engineOver(worker: SupervisedWorker): Engine {
  const never = new AbortController().signal;
  return {
    describe: () => worker.describe(),
    generate: (request, signal) => generate(worker, request, signal),
    // Each answer's shape is fixed by the worker's messages.
    embed: async (request, signal) => (await ask(worker, { type: "embed", request }, signal)) as Embeddings,
    rank: async (query, documents, signal) =>
      (await ask(worker, { type: "rank", query, documents }, signal)) as number[], // as above
    tokenize: async (text) => (await ask(worker, { type: "tokenize", text }, never)) as number[], // as above
    render: async (conversation: Conversation) =>
      (await ask(worker, { type: "render", conversation }, never)) as string, // as above
    count: async (conversation: Conversation) =>
      (await ask(worker, { type: "count", conversation }, never)) as number, // as above
    unload: () => worker.stop(),
    ended: worker.ended,
    [Symbol.asyncDispose]: () => worker.stop(),
  };
}

/** Leaving the loop or firing the signal tells the worker to stop; both free the sequence. */
async function* generate(
  worker: SupervisedWorker,
  request: GenerateRequest,
  signal: AbortSignal,
): AsyncGenerator<EngineEvent> {
  signal.throwIfAborted();
  const queue = new EventQueue<EngineEvent>();
  const id = worker.ledger.open({
    onEvents: (events) => queue.push(events),
    onAnswer: () => queue.close(),
    onProblem: (problem) => queue.close(problem),
  });
  const hangUp = (): void => {
    worker.send({ type: "abort", id });
    queue.close(asError(signal.reason));
  };
  signal.addEventListener("abort", hangUp, { once: true });
  worker.send({ type: "generate", id, request });
  let isFinished = false;
  try {
    yield* queue;
    isFinished = true;
  } finally {
    signal.removeEventListener("abort", hangUp);
    if (!isFinished) worker.send({ type: "abort", id });
  }
}

/** A signal's reason may be anything a caller passed. */
function asError(reason: unknown): Error {
  return reason instanceof Error ? reason : new Error(String(reason));
}

type Question = DistributiveOmit<Extract<ToWorker, { id: number }>, "id">;
type DistributiveOmit<Union, Key extends PropertyKey> = Union extends unknown ? Omit<Union, Key> : never;

function ask(worker: SupervisedWorker, question: Question, signal: AbortSignal): Promise<unknown> {
  signal.throwIfAborted();
  const { promise, resolve, reject } = Promise.withResolvers<unknown>();
  const id = worker.ledger.open({ onEvents: () => undefined, onAnswer: resolve, onProblem: reject });
  const hangUp = (): void => {
    worker.send({ type: "abort", id });
    reject(signal.reason);
  };
  signal.addEventListener("abort", hangUp, { once: true });
  worker.send({ ...question, id });
  return promise.finally(() => signal.removeEventListener("abort", hangUp));
}
