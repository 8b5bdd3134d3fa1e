import { setTimeout as sleep } from "node:timers/promises";
import type { EngineFailure, LoadOptions, LoadPlan } from "@hearth-and-keep/engine";
import { exitFailure, failureForOthers } from "@hearth-and-keep/engine-host";
import { FailureError } from "@hearth-and-keep/failures";
import type { EngineHttpRequest } from "../wire/engine-client.ts";
import { WireError } from "../wire/wire-error.ts";
import { type EngineProcess, type ProcessDependencies, startEngineProcess } from "./engine-process.ts";
import { mapErrorResponse } from "./map-error.ts";
import { PrefillSpeed } from "./prefill-speed.ts";
import { memoryOfProcess } from "./process-memory.ts";
import type { StartPlan } from "./start-plan.ts";
import { type WatchedRequest, watchEngine } from "./watch-engine.ts";

export type SupervisedEngine = {
  readonly pid: number;
  readonly start: StartPlan;
  /** Callers record how long prompt evaluation took. */
  readonly speed: PrefillSpeed;
  /** Returns the body of a response with status 200 and throws a failure of the engine port otherwise. */
  request(request: EngineHttpRequest & WatchedRequest, signal: AbortSignal): Promise<unknown>;
  stream(
    request: EngineHttpRequest & WatchedRequest,
    signal: AbortSignal,
  ): AsyncGenerator<unknown, void, undefined>;
  /** Aborts with the failure that all pending requests receive. */
  readonly gone: AbortSignal;
  stop(): Promise<void>;
  /** Undefined after `stop`, the failure otherwise. */
  readonly exited: Promise<EngineFailure | undefined>;
};

/**
 * Starts a llama-server, waits until its model is loaded, and supervises it:
 *
 *   starting --healthy--> serving --stop--> stopped
 *   starting or serving --exit, silence, stall--> failed: every pending request fails with the same reason
 */
export async function superviseEngine(
  plan: LoadPlan,
  { signal, onProgress, ...dependencies }: LoadOptions & ProcessDependencies,
): Promise<SupervisedEngine> {
  signal.throwIfAborted();
  const engine = await startEngineProcess(plan, dependencies);
  const gone = new AbortController();
  let cause: EngineFailure | undefined;
  let isLoaded = false;
  let isStopping = false;
  const failWith = (failure: EngineFailure): void => {
    cause ??= failure;
    engine.kill();
  };
  const speed = new PrefillSpeed();
  const watch = watchEngine({ client: engine.watchClient, start: engine.start, speed, onHung: failWith });
  const exited = engine.exited.then(async (exit) => {
    watch.stop();
    const exitReason = isLoaded
      ? exitFailure(exit)
      : toLoadFailure(exitFailure(exit), await engine.stderrTail());
    const failure = isStopping ? undefined : (cause ?? exitReason);
    gone.abort(new FailureError(failureForOthers(failure ?? { kind: "engine-unloaded" })));
    return failure;
  });
  try {
    onProgress(0);
    await waitUntilHealthy(engine, AbortSignal.any([signal, gone.signal]));
  } catch (error) {
    if (error instanceof FailureError) cause ??= error.failure;
    engine.kill();
    await exited;
    throw signal.aborted ? signal.reason : gone.signal.reason;
  }
  isLoaded = true;
  onProgress(1);
  const context = { engine, watch, gone: gone.signal, failWith, exited };
  return {
    pid: engine.pid,
    start: engine.start,
    speed,
    request: (request, clientSignal) => sendRequest(request, clientSignal, context),
    stream: (request, clientSignal) => streamRequest(request, clientSignal, context),
    gone: gone.signal,
    async stop() {
      isStopping = true;
      engine.kill();
      await exited;
    },
    exited,
  };
}

type RequestContext = {
  readonly engine: EngineProcess;
  readonly watch: ReturnType<typeof watchEngine>;
  readonly gone: AbortSignal;
  readonly failWith: (failure: EngineFailure) => void;
  readonly exited: Promise<unknown>;
};

/** Endpoints served by the compute loop. Other threads serve the rest, and error responses, even if the loop hangs. */
const computedPaths: ReadonlySet<string> = new Set(["/slots", "/completion", "/embedding", "/rerank"]);

async function sendRequest(
  request: EngineHttpRequest & WatchedRequest,
  signal: AbortSignal,
  context: RequestContext,
): Promise<unknown> {
  const { engine, watch, gone } = context;
  const tracked = watch.track(request);
  let isCompleted = false;
  try {
    const { status, value } = await engine.client.request(request, AbortSignal.any([signal, gone]));
    isCompleted = true;
    if (status !== 200) throw mapErrorResponse({ status, value }, request);
    if (computedPaths.has(request.path)) tracked.progressed();
    return value;
  } catch (error) {
    throw await toRequestError(error, request, context);
  } finally {
    tracked.finish(isCompleted);
  }
}

async function* streamRequest(
  request: EngineHttpRequest & WatchedRequest,
  signal: AbortSignal,
  context: RequestContext,
): AsyncGenerator<unknown, void, undefined> {
  const { engine, watch, gone } = context;
  const tracked = watch.track(request);
  let isCompleted = false;
  try {
    for await (const event of engine.client.stream(request, AbortSignal.any([signal, gone]))) {
      tracked.progressed();
      yield event;
    }
    isCompleted = true;
  } catch (error) {
    throw await toRequestError(error, request, context);
  } finally {
    tracked.finish(isCompleted);
  }
}

const exitGraceSeconds = 2;

/**
 * A connection breaks shortly before the exit of its process is reported. If the process does not exit, the engine is
 * killed.
 */
async function toRequestError(
  thrown: unknown,
  request: WatchedRequest,
  context: RequestContext,
): Promise<unknown> {
  if (!(thrown instanceof WireError)) return thrown;
  const { detail } = thrown;
  if (detail.kind === "error-response") return mapErrorResponse(detail, request);
  if (detail.kind === "too-large" || detail.kind === "invalid-response") return thrown;
  await Promise.race([context.exited, sleep(exitGraceSeconds * 1000, undefined, { ref: false })]);
  if (!context.gone.aborted) {
    context.failWith({ kind: "engine-crashed", exitCode: null, signal: null });
    await context.exited;
  }
  return context.gone.reason;
}

const pollMilliseconds = 25;
const loadStallSeconds = 120;
/** The server responds even while it loads, so a request without a response is retried. */
const pollTimeoutMilliseconds = 2000;

/** Memory grows while weights are loaded; a load without progress is aborted. */
async function waitUntilHealthy(engine: EngineProcess, signal: AbortSignal): Promise<void> {
  let progressedAt = performance.now();
  let bytes = 0;
  while (!(await isHealthy(engine, signal))) {
    signal.throwIfAborted();
    const memory = memoryOfProcess(engine.pid);
    const now = memory === undefined ? 0 : memory.ownBytes + memory.mappedBytes;
    if (now !== bytes) progressedAt = performance.now();
    bytes = now;
    if (performance.now() - progressedAt > loadStallSeconds * 1000) {
      throw new FailureError<EngineFailure>({ kind: "load-timed-out", seconds: loadStallSeconds });
    }
    await sleep(pollMilliseconds);
  }
}

async function isHealthy({ client }: EngineProcess, signal: AbortSignal): Promise<boolean> {
  const timeout = AbortSignal.timeout(pollTimeoutMilliseconds);
  try {
    return (await client.request({ path: "/health" }, AbortSignal.any([signal, timeout]))).status === 200;
  } catch (error) {
    // The socket does not exist until the server listens.
    if (error instanceof WireError || (timeout.aborted && !signal.aborted)) return false;
    throw error;
  }
}

/** An engine that exits while it loads has rejected the model, unless it cannot run at all. */
function toLoadFailure(failure: EngineFailure, stderrTail: string): EngineFailure {
  if (failure.kind !== "engine-crashed" || failure.exitCode === null) return failure;
  if (/No module named|shared librar|bwrap:|invalid argument/u.test(stderrTail)) return failure;
  if (/alloc|out of memory/iu.test(stderrTail)) return { kind: "insufficient-memory", neededBytes: null };
  return { kind: "model-invalid", reason: "llama.cpp's server cannot load it" };
}
