import { FailureError } from "@hearth-and-keep/failures";
import type { EngineDescription, EngineFailure, LoadParts, LoadPlan } from "../port/engine.ts";
import { lookAtMachine, type Machine } from "../sandbox/plan-launch.ts";
import type { FromWorker, ToWorker } from "../worker/messages.ts";
import { CallLedger } from "./call-ledger.ts";
import { startWorker } from "./worker-process.ts";

export type SupervisedWorker = {
  readonly description: EngineDescription;
  readonly ledger: CallLedger;
  readonly pid: number;
  send(message: ToWorker): void;
  stop(): Promise<void>;
  /** Undefined after `stop`, the failure otherwise. */
  readonly ended: Promise<EngineFailure | undefined>;
};

/** A load that shows no progress for this long is given up. */
const loadStallSeconds = 120;
/** A worker whose event loop has not turned for this long is taken for hung and killed. */
const silenceSeconds = 10;

/**
 * Starts a worker, has it load a model, and watches it:
 *
 *   starting --loaded--> serving --unload--> stopped
 *   starting or serving --exit, silence, stall--> failed: every waiting caller gets the one reason
 */
export async function superviseWorker(
  plan: LoadPlan,
  { signal, onProgress, machine = lookAtMachine() }: LoadParts & { readonly machine?: Machine },
): Promise<SupervisedWorker> {
  signal.throwIfAborted();
  const ledger = new CallLedger();
  const loading = Promise.withResolvers<EngineDescription>();
  let cause: EngineFailure | undefined;
  let isStopping = false;
  const failWith = (failure: EngineFailure): void => {
    cause ??= failure;
    worker.kill();
  };
  const watch = watchSilence((seconds) => failWith({ kind: "engine-hung", seconds }));
  const stall = watchStall(() => failWith({ kind: "load-timed-out", seconds: loadStallSeconds }));
  const hear = (message: FromWorker): void => {
    watch.heard();
    if (message.type === "heartbeat") return;
    if (message.type === "load-progress") {
      stall.moved();
      onProgress(message.share);
    } else if (message.type === "loaded") loading.resolve(message.description);
    else if (message.type === "load-failed") failWith(message.failure);
    else ledger.hear(message);
  };
  const worker = startWorker({ modelFiles: filesOf(plan), machine }, hear);
  const giveUp = (): void => worker.kill();
  signal.addEventListener("abort", giveUp);
  const ended = worker.ended.then(({ exitCode, signal: by }) => {
    watch.stop();
    stall.stop();
    const failure = isStopping ? undefined : (cause ?? { kind: "engine-died", exitCode, signal: by });
    const problem = new FailureError<EngineFailure>(failure ?? { kind: "engine-unloaded" });
    ledger.end(problem);
    loading.reject(signal.aborted ? signal.reason : problem);
    return failure;
  });
  worker.send({ type: "load", plan });
  const description = await loading.promise;
  stall.stop();
  signal.removeEventListener("abort", giveUp);
  return {
    description,
    ledger,
    pid: worker.pid,
    send: (message) => worker.send(message),
    async stop() {
      isStopping = true;
      worker.kill();
      await ended;
    },
    ended,
  };
}

/** Parts of a split model lie beside its first file. */
function filesOf({ modelPath, adapters = [], projectorPath }: LoadPlan): readonly string[] {
  const [, stem, count] = /^(.*-)\d{5}-of-(\d{5})\.gguf$/.exec(modelPath) ?? [];
  const parts = Array.from({ length: Number(count ?? 0) }, (_none, index) => {
    return `${stem}${String(index + 1).padStart(5, "0")}-of-${count}.gguf`;
  });
  const others = [
    ...adapters.map(({ path }) => path),
    ...(projectorPath === undefined ? [] : [projectorPath]),
  ];
  return [...(parts.length > 0 ? parts : [modelPath]), ...others];
}

function watchSilence(onSilence: (seconds: number) => void): { heard(): void; stop(): void } {
  let heardAt = performance.now();
  const timer = setInterval(() => {
    if (performance.now() - heardAt > silenceSeconds * 1000) onSilence(silenceSeconds);
  }, 500);
  timer.unref();
  return { heard: () => void (heardAt = performance.now()), stop: () => clearInterval(timer) };
}

function watchStall(onStall: () => void): { moved(): void; stop(): void } {
  let timer = setTimeout(onStall, loadStallSeconds * 1000);
  return {
    moved() {
      clearTimeout(timer);
      timer = setTimeout(onStall, loadStallSeconds * 1000);
    },
    stop: () => clearTimeout(timer),
  };
}
