import type {
  EngineDescription,
  EngineFailure,
  EngineRequest,
  LoadOptions,
  LoadPlan,
} from "@hearth-and-keep/engine";
import {
  createMemoryCgroup,
  describeProtection,
  exitFailure,
  inspectMachine,
  listModelFiles,
  type Machine,
  memoryLimitForPlan,
} from "@hearth-and-keep/engine-host";
import { FailureError } from "@hearth-and-keep/failures";
import type { FromWorker, ToWorker } from "../channel/messages.ts";
import { loadStallSeconds, watchLoadProgress, watchWorker } from "./watch-worker.ts";
import { WorkerCalls } from "./worker-calls.ts";
import { defaultWorkerProgram, startWorker, type WorkerPlan } from "./worker-process.ts";

export type SupervisedWorker = {
  describe(): EngineDescription;
  readonly calls: WorkerCalls;
  readonly pid: number;
  send(message: ToWorker): void;
  stop(): Promise<void>;
  /** Undefined after `stop`, the failure otherwise. */
  readonly exited: Promise<EngineFailure | undefined>;
};

type SuperviseOptions = LoadOptions & {
  readonly machine?: Machine;
  /** A build of the binding made on this machine. */
  readonly buildFolder?: string | undefined;
  readonly workerProgram?: string | undefined;
  /** Called at the worker's end with the requests whose grammars may have stalled it, if any. */
  readonly onStall: (suspects: readonly EngineRequest[]) => void;
};

/** Why it is killed when its messages are invalid: it no longer runs our program as it should. */
const invalidOutput: EngineFailure = { kind: "engine-crashed", exitCode: null, signal: null };

/**
 * Starts a worker, makes it load a model, and supervises it:
 *
 *   starting --loaded--> serving --unload--> stopped
 *   starting or serving --exit, silence, stall--> failed: every pending call fails with the same reason
 */
export async function superviseWorker(
  plan: LoadPlan,
  { signal, onProgress, machine = inspectMachine(), buildFolder, workerProgram, onStall }: SuperviseOptions,
): Promise<SupervisedWorker> {
  const workerPlan = await planWorker(plan, { signal, machine, buildFolder, workerProgram });
  const loading = Promise.withResolvers<EngineDescription>();
  let cause: EngineFailure | undefined;
  let isStopping = false;
  let threads: number | undefined;
  const fail = (failure: EngineFailure): void => {
    cause ??= failure;
    worker.kill();
  };
  const watch = watchWorker(fail);
  const loadProgress = watchLoadProgress(() => fail({ kind: "load-timed-out", seconds: loadStallSeconds }));
  const receive = (message: FromWorker): void => {
    watch.received(message);
    if (message.type === "heartbeat") threads = message.threads;
    else if (message.type === "load-progress") {
      loadProgress.progressed();
      onProgress(message.fraction);
    } else if (message.type === "loaded") loading.resolve(message.description);
    else if (message.type === "load-failed") fail(message.failure);
    else calls.handleMessage(message);
  };
  const worker = startWorker(workerPlan, { onMessage: receive, onInvalid: () => fail(invalidOutput) });
  const send = (message: ToWorker): void => {
    watch.sent(message);
    worker.send(message);
  };
  const calls = new WorkerCalls(send);
  const abort = (): void => worker.kill();
  signal.addEventListener("abort", abort);
  const exited = worker.exited.then((exit) => {
    watch.stop();
    loadProgress.stop();
    const failure = isStopping ? undefined : (cause ?? exitFailure(exit));
    const reported: EngineFailure = failure ?? { kind: "engine-unloaded" };
    onStall(calls.failAll(reported));
    loading.reject(signal.aborted ? signal.reason : new FailureError(reported));
    return failure;
  });
  worker.send({ type: "load", plan, buildFolder });
  const description = await loading.promise;
  const protection = describeProtection(machine);
  loadProgress.stop();
  signal.removeEventListener("abort", abort);
  return {
    describe: () => ({ ...description, threads: threads ?? description.threads, protection }),
    calls,
    pid: worker.pid,
    send,
    async stop() {
      isStopping = true;
      worker.kill();
      await exited;
    },
    exited,
  };
}

type WorkerContext = {
  readonly signal: AbortSignal;
  readonly machine: Machine;
  readonly buildFolder: string | undefined;
  readonly workerProgram: string | undefined;
};

async function planWorker(
  plan: LoadPlan,
  { signal, machine, buildFolder, workerProgram = defaultWorkerProgram }: WorkerContext,
): Promise<WorkerPlan> {
  const limitBytes = await memoryLimitForPlan(plan, machine.memoryBytes);
  signal.throwIfAborted();
  const cgroup = machine.cgroup === undefined ? undefined : createMemoryCgroup(machine.cgroup, limitBytes);
  return {
    program: workerProgram,
    modelFiles: listModelFiles(plan),
    buildFolders: buildFolder === undefined ? [] : [buildFolder],
    usesGpu: plan.gpuLayers !== 0,
    limitBytes,
    cgroup,
    machine,
  };
}
