import type { EngineDescription, EngineFailure, LoadParts, LoadPlan } from "@hearth-and-keep/engine";
import {
  failureOf,
  filesOf,
  limitOfPlan,
  lookAtMachine,
  type Machine,
  openMemoryCgroup,
} from "@hearth-and-keep/engine-host";
import { FailureError } from "@hearth-and-keep/failures";
import type { FromWorker, ToWorker } from "../worker/messages.ts";
import { CallLedger } from "./call-ledger.ts";
import { loadStallSeconds, watchStall, watchWorker } from "./watch-worker.ts";
import { startWorker, type WorkerPlan } from "./worker-process.ts";

export type SupervisedWorker = {
  describe(): EngineDescription;
  readonly ledger: CallLedger;
  readonly pid: number;
  send(message: ToWorker): void;
  stop(): Promise<void>;
  /** Undefined after `stop`, the failure otherwise. */
  readonly ended: Promise<EngineFailure | undefined>;
};

type SupervisionParts = LoadParts & {
  readonly machine?: Machine;
  /** Of a build of the binding made on this machine. */
  readonly buildFolder?: string | undefined;
};

/**
 * Starts a worker, has it load a model, and watches it:
 *
 *   starting --loaded--> serving --unload--> stopped
 *   starting or serving --exit, silence, stall--> failed: every waiting caller gets the one reason
 */
export async function superviseWorker(
  plan: LoadPlan,
  { signal, onProgress, machine = lookAtMachine(), buildFolder }: SupervisionParts,
): Promise<SupervisedWorker> {
  const workerPlan = await planWorker(plan, { signal, machine, buildFolder });
  const ledger = new CallLedger();
  const loading = Promise.withResolvers<EngineDescription>();
  let cause: EngineFailure | undefined;
  let isStopping = false;
  let threads: number | undefined;
  const failWith = (failure: EngineFailure): void => {
    cause ??= failure;
    worker.kill();
  };
  const watch = watchWorker(failWith);
  const stall = watchStall(() => failWith({ kind: "load-timed-out", seconds: loadStallSeconds }));
  const hear = (message: FromWorker): void => {
    watch.heard(message);
    if (message.type === "heartbeat") threads = message.threads;
    else if (message.type === "load-progress") {
      stall.moved();
      onProgress(message.share);
    } else if (message.type === "loaded") loading.resolve(message.description);
    else if (message.type === "load-failed") failWith(message.failure);
    else ledger.hear(message);
  };
  const worker = startWorker(workerPlan, hear);
  const giveUp = (): void => worker.kill();
  signal.addEventListener("abort", giveUp);
  const ended = worker.ended.then((end) => {
    watch.stop();
    stall.stop();
    const failure = isStopping ? undefined : (cause ?? failureOf(end));
    const problem = new FailureError<EngineFailure>(failure ?? { kind: "engine-unloaded" });
    ledger.end(problem);
    loading.reject(signal.aborted ? signal.reason : problem);
    return failure;
  });
  worker.send({ type: "load", plan, buildFolder });
  const description = await loading.promise;
  stall.stop();
  signal.removeEventListener("abort", giveUp);
  return {
    describe: () => ({ ...description, threads: threads ?? description.threads }),
    ledger,
    pid: worker.pid,
    send(message) {
      watch.asked(message);
      worker.send(message);
    },
    async stop() {
      isStopping = true;
      worker.kill();
      await ended;
    },
    ended,
  };
}

type Surroundings = {
  readonly signal: AbortSignal;
  readonly machine: Machine;
  readonly buildFolder: string | undefined;
};

async function planWorker(plan: LoadPlan, surroundings: Surroundings): Promise<WorkerPlan> {
  const { signal, machine, buildFolder } = surroundings;
  const limitBytes = await limitOfPlan(plan, machine.memoryBytes);
  signal.throwIfAborted();
  const cgroup = machine.cgroup === undefined ? undefined : openMemoryCgroup(machine.cgroup, limitBytes);
  return {
    modelFiles: filesOf(plan),
    ownFolders: buildFolder === undefined ? [] : [buildFolder],
    usesGpu: plan.gpuLayers !== 0,
    limitBytes,
    cgroup,
    machine,
  };
}
