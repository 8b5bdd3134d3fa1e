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
  type SharedFile,
} from "@hearth-and-keep/engine-host";
import { FailureError } from "@hearth-and-keep/failures";
import type { FromWorker, GpuBuild, ToWorker } from "../channel/messages.ts";
import type { PromptExchange, PromptStore } from "./prompt-exchange.ts";
import { loadStallSeconds, watchLoadProgress, watchWorker } from "./watch-worker.ts";
import { WorkerCalls } from "./worker-calls.ts";
import { defaultWorkerProgram, startWorker, type WorkerPlan } from "./worker-process.ts";

export type SupervisedWorker = {
  describe(): EngineDescription;
  readonly calls: WorkerCalls;
  readonly pid: number;
  send(message: ToWorker): void;
  /** Whether it can keep the states of prompts before it stops. */
  readonly keepsPrompts: boolean;
  stop(): Promise<void>;
  /** Undefined after `stop`, the failure otherwise. */
  readonly exited: Promise<EngineFailure | undefined>;
};

type SuperviseOptions = LoadOptions & {
  readonly machine?: Machine;
  /** A build of the binding made on this machine. */
  readonly buildFolder?: string | undefined;
  readonly workerProgram?: string | undefined;
  readonly promptStore?: PromptStore | undefined;
  readonly gpu?: (GpuBuild & { readonly devices?: string | undefined }) | undefined;
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
  { signal, onProgress, machine = inspectMachine(), onStall, ...options }: SuperviseOptions,
): Promise<SupervisedWorker> {
  let isStopping = false;
  let cause: EngineFailure | undefined;
  let heartbeat: Extract<FromWorker, { type: "heartbeat" }> | undefined;
  const exchange = await openExchange(plan, options);
  using unstarted = new DisposableStack();
  unstarted.defer(() => exchange?.stop({ wasStopped: isStopping }));
  const workerPlan = await planWorker(plan, { signal, machine, sharedFile: exchange?.file, ...options });
  const loading = Promise.withResolvers<EngineDescription>();
  const fail = (failure: EngineFailure): void => {
    cause ??= failure;
    worker.kill();
  };
  const watch = unstarted.use(watchMessages(fail, { onProgress, exchange }));
  const receive = (message: FromWorker): void => {
    watch.received(message, send);
    if (message.type === "heartbeat") heartbeat = message;
    else if (message.type === "loaded") loading.resolve(message.description);
    else if (message.type === "load-failed" || isGpuLoss(message)) fail(message.failure);
    else if ("id" in message) calls.handleMessage(message);
  };
  const worker = startWorker(workerPlan, { onMessage: receive, onInvalid: () => fail(invalidOutput) });
  const watching = unstarted.move();
  const send = (message: ToWorker): void => {
    watch.sent(message);
    worker.send(message);
  };
  const calls = new WorkerCalls(send);
  const abort = (): void => worker.kill();
  signal.addEventListener("abort", abort);
  const exited = worker.exited.then((exit) => {
    watching.dispose();
    const failure = isStopping ? undefined : (cause ?? exitFailure(exit));
    const reported: EngineFailure = failure ?? { kind: "engine-unloaded" };
    onStall(calls.failAll(reported));
    loading.reject(signal.aborted ? signal.reason : new FailureError(reported));
    return failure;
  });
  const { buildFolder, gpu } = options;
  worker.send({ type: "load", plan, buildFolder, gpu, keepsPrompts: exchange !== undefined });
  const description = await loading.promise;
  const protection = describeProtection(machine);
  signal.removeEventListener("abort", abort);
  return {
    describe: () => ({ ...description, ...measuredBy(heartbeat), protection }),
    calls,
    pid: worker.pid,
    send,
    keepsPrompts: exchange !== undefined,
    async stop() {
      isStopping = true;
      worker.kill();
      await exited;
    },
    exited,
  };
}

/** What changes while the model is loaded. */
function measuredBy(
  heartbeat: Extract<FromWorker, { type: "heartbeat" }> | undefined,
): Partial<Pick<EngineDescription, "threads" | "measuredMemory">> {
  const { threads, measuredMemory } = heartbeat ?? {};
  return {
    ...(threads === undefined ? {} : { threads }),
    ...(measuredMemory === undefined ? {} : { measuredMemory }),
  };
}

type MessageWatch = Disposable & {
  sent(message: ToWorker): void;
  received(message: FromWorker, send: (message: ToWorker) => void): void;
};

/** Passes on every message to what follows the worker: its silence, the progress of the load, and its prompt cache. */
function watchMessages(
  fail: (failure: EngineFailure) => void,
  {
    onProgress,
    exchange,
  }: Pick<LoadOptions, "onProgress"> & { readonly exchange: PromptExchange | undefined },
): MessageWatch {
  const watch = watchWorker(fail);
  const loadProgress = watchLoadProgress(() => fail({ kind: "load-timed-out", seconds: loadStallSeconds }));
  return {
    sent(message) {
      watch.sent(message);
      exchange?.sent(message);
    },
    received(message, send) {
      watch.received(message);
      exchange?.received(message, send);
      if (message.type === "loaded") loadProgress.stop();
      if (message.type !== "load-progress") return;
      loadProgress.progressed();
      onProgress(message.fraction);
    },
    [Symbol.dispose]() {
      watch.stop();
      loadProgress.stop();
    },
  };
}

/** Loaded only with a prompt cache. */
async function openExchange(
  plan: LoadPlan,
  { promptStore: store, buildFolder }: Pick<SuperviseOptions, "promptStore" | "buildFolder">,
): Promise<PromptExchange | undefined> {
  if (store === undefined) return undefined;
  const { openPromptExchange } = await import("./prompt-exchange.ts");
  return openPromptExchange(plan, { store, buildFolder });
}

/** Nothing that runs on this GPU works any more. */
function isGpuLoss(message: FromWorker): message is Extract<FromWorker, { type: "failure" }> {
  return message.type === "failure" && message.failure.kind === "gpu-failed";
}

type WorkerContext = Pick<SuperviseOptions, "signal" | "buildFolder" | "workerProgram" | "gpu"> & {
  readonly machine: Machine;
  readonly sharedFile: SharedFile | undefined;
};

async function planWorker(
  plan: LoadPlan,
  { signal, machine, buildFolder, gpu, workerProgram = defaultWorkerProgram, sharedFile }: WorkerContext,
): Promise<WorkerPlan> {
  // What a worker writes to the shared file counts as its memory.
  const limitBytes = (await memoryLimitForPlan(plan, machine.memoryBytes)) + (sharedFile?.maxBytes ?? 0);
  signal.throwIfAborted();
  const cgroup = machine.cgroup === undefined ? undefined : createMemoryCgroup(machine.cgroup, limitBytes);
  return {
    program: workerProgram,
    modelFiles: listModelFiles(plan),
    buildFolders: [buildFolder, gpu?.folder].filter((folder) => folder !== undefined),
    usesGpu: plan.gpuLayers !== 0 && (gpu !== undefined || machine.gpuDevices.length > 0),
    gpuEnvironment: gpu?.devices === undefined ? {} : deviceVariables(gpu.devices),
    limitBytes,
    cgroup,
    machine,
    sharedFile,
  };
}

/** The variables by which llama.cpp's backends select devices. */
function deviceVariables(devices: string): Readonly<Record<string, string>> {
  return { GGML_VK_VISIBLE_DEVICES: devices, CUDA_VISIBLE_DEVICES: devices };
}
