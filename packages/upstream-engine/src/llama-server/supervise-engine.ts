import { setTimeout as sleep } from "node:timers/promises";
import type { EngineFailure, LoadOptions, LoadPlan } from "@hearth-and-keep/engine";
import { exitFailure } from "@hearth-and-keep/engine-host";
import { FailureError } from "@hearth-and-keep/failures";
import type { EngineHttpRequest } from "../wire/engine-client.ts";
import { WireError } from "../wire/wire-error.ts";
import { type EngineProcess, type ProcessDependencies, startEngineProcess } from "./engine-process.ts";
import { nameRefusal } from "./map-error.ts";
import { memoryOfProcess } from "./process-memory.ts";
import { ReadingSpeed } from "./prefill-speed.ts";
import type { StartPlan } from "./start-plan.ts";
import { type WatchedRequest, watchEngine } from "./watch-engine.ts";

export type SupervisedEngine = {
  readonly pid: number;
  readonly start: StartPlan;
  /** Whoever has it read something tells how long that took. */
  readonly speed: ReadingSpeed;
  /** What it answered with 200; everything else is thrown as a failure of the port. */
  ask(question: EngineHttpRequest & WatchedRequest, signal: AbortSignal): Promise<unknown>;
  stream(
    question: EngineHttpRequest & WatchedRequest,
    signal: AbortSignal,
  ): AsyncGenerator<unknown, void, undefined>;
  /** Fires with the failure that everybody who waits is to get. */
  readonly gone: AbortSignal;
  stop(): Promise<void>;
  /** Undefined after `stop`, the failure otherwise. */
  readonly ended: Promise<EngineFailure | undefined>;
};

/**
 * Starts a llama-server, waits until its model is loaded, and watches it:
 *
 *   starting --healthy--> serving --stop--> stopped
 *   starting or serving --exit, silence, stall--> failed: every waiting caller gets the one reason
 */
export async function superviseEngine(
  plan: LoadPlan,
  { signal, onProgress, ...parts }: LoadOptions & ProcessDependencies,
): Promise<SupervisedEngine> {
  signal.throwIfAborted();
  const engine = await startEngineProcess(plan, parts);
  const gone = new AbortController();
  let cause: EngineFailure | undefined;
  let isLoaded = false;
  let isStopping = false;
  const failWith = (failure: EngineFailure): void => {
    cause ??= failure;
    engine.kill();
  };
  const speed = new ReadingSpeed();
  const watch = watchEngine({ client: engine.watchClient, start: engine.start, speed, onHung: failWith });
  const ended = engine.ended.then(async (end) => {
    watch.stop();
    const told = isLoaded ? exitFailure(end) : nameFailedLoad(exitFailure(end), await engine.complaints());
    const failure = isStopping ? undefined : (cause ?? told);
    gone.abort(new FailureError<EngineFailure>(failure ?? { kind: "engine-unloaded" }));
    return failure;
  });
  try {
    onProgress(0);
    await untilHealthy(engine, AbortSignal.any([signal, gone.signal]));
  } catch (problem) {
    if (problem instanceof FailureError) cause ??= problem.failure;
    engine.kill();
    await ended;
    throw signal.aborted ? signal.reason : gone.signal.reason;
  }
  isLoaded = true;
  onProgress(1);
  const speaking = { engine, watch, gone: gone.signal, failWith, ended };
  return {
    pid: engine.pid,
    start: engine.start,
    speed,
    ask: (question, callerSignal) => ask(question, callerSignal, speaking),
    stream: (question, callerSignal) => stream(question, callerSignal, speaking),
    gone: gone.signal,
    async stop() {
      isStopping = true;
      engine.kill();
      await ended;
    },
    ended,
  };
}

type Speaking = {
  readonly engine: EngineProcess;
  readonly watch: ReturnType<typeof watchEngine>;
  readonly gone: AbortSignal;
  readonly failWith: (failure: EngineFailure) => void;
  readonly ended: Promise<unknown>;
};

/** What the loop that computes answers; other threads answer the rest, and refuse, though it hangs. */
const computedPaths: ReadonlySet<string> = new Set(["/slots", "/completion", "/embedding", "/rerank"]);

async function ask(
  question: EngineHttpRequest & WatchedRequest,
  signal: AbortSignal,
  speaking: Speaking,
): Promise<unknown> {
  const { engine, watch, gone } = speaking;
  const entered = watch.enter(question);
  let isAnswered = false;
  try {
    const { status, value } = await engine.client.ask(question, AbortSignal.any([signal, gone]));
    isAnswered = true;
    if (status !== 200) throw nameRefusal({ status, value }, question);
    if (computedPaths.has(question.path)) entered.heard();
    return value;
  } catch (problem) {
    throw await nameLoss(problem, question, speaking);
  } finally {
    entered.leave(isAnswered);
  }
}

async function* stream(
  question: EngineHttpRequest & WatchedRequest,
  signal: AbortSignal,
  speaking: Speaking,
): AsyncGenerator<unknown, void, undefined> {
  const { engine, watch, gone } = speaking;
  const entered = watch.enter(question);
  let isAnswered = false;
  try {
    for await (const event of engine.client.stream(question, AbortSignal.any([signal, gone]))) {
      entered.heard();
      yield event;
    }
    isAnswered = true;
  } catch (problem) {
    throw await nameLoss(problem, question, speaking);
  } finally {
    entered.leave(isAnswered);
  }
}

const lossSeconds = 2;

/** A connection breaks a moment before its process is known to be dead; one that breaks alone is no engine any more. */
async function nameLoss(problem: unknown, asked: WatchedRequest, speaking: Speaking): Promise<unknown> {
  if (!(problem instanceof WireError)) return problem;
  const { detail } = problem;
  if (detail.kind === "refused") return nameRefusal(detail, asked);
  if (detail.kind === "too-large" || detail.kind === "not-understood") return problem;
  await Promise.race([speaking.ended, sleep(lossSeconds * 1000, undefined, { ref: false })]);
  if (!speaking.gone.aborted) {
    speaking.failWith({ kind: "engine-crashed", exitCode: null, signal: null });
    await speaking.ended;
  }
  return speaking.gone.reason;
}

const lookEveryMilliseconds = 25;
const loadStallSeconds = 120;
/** It answers in the middle of a load too; what takes the question and says nothing is asked again. */
const longestLookMilliseconds = 2000;

/** While weights are read its memory grows; a load that neither ends nor moves is given up. */
async function untilHealthy(engine: EngineProcess, signal: AbortSignal): Promise<void> {
  let movedAt = performance.now();
  let bytes = 0;
  while (!(await isHealthy(engine, signal))) {
    signal.throwIfAborted();
    const memory = memoryOfProcess(engine.pid);
    const now = memory === undefined ? 0 : memory.ownBytes + memory.mappedBytes;
    if (now !== bytes) movedAt = performance.now();
    bytes = now;
    if (performance.now() - movedAt > loadStallSeconds * 1000) {
      throw new FailureError<EngineFailure>({ kind: "load-timed-out", seconds: loadStallSeconds });
    }
    await sleep(lookEveryMilliseconds);
  }
}

async function isHealthy({ client }: EngineProcess, signal: AbortSignal): Promise<boolean> {
  const enough = AbortSignal.timeout(longestLookMilliseconds);
  try {
    return (await client.ask({ path: "/health" }, AbortSignal.any([signal, enough]))).status === 200;
  } catch (problem) {
    // There is no socket until it listens.
    if (problem instanceof WireError || (enough.aborted && !signal.aborted)) return false;
    throw problem;
  }
}

/** An engine that ends by itself while it loads has found something wrong with the model, unless it cannot run at all. */
function nameFailedLoad(failure: EngineFailure, complaints: string): EngineFailure {
  if (failure.kind !== "engine-crashed" || failure.exitCode === null) return failure;
  if (/No module named|shared librar|bwrap:|invalid argument/u.test(complaints)) return failure;
  if (/alloc|out of memory/iu.test(complaints)) return { kind: "insufficient-memory", neededBytes: null };
  return { kind: "model-invalid", reason: "llama.cpp's own server cannot load it" };
}
