import type { EngineDriver, EngineFailure, LoadPlan } from "@hearth-and-keep/engine";
import { createFakeEngine, type FakeEngine, greedySampling } from "@hearth-and-keep/engine/testing";
import { FailureError } from "@hearth-and-keep/failures";

type FakeLoad = {
  readonly plan: LoadPlan;
  readonly signal: AbortSignal;
  /** Completes a held load. */
  finish(): void;
  fail(failure: EngineFailure): void;
  /** Defined once the load has completed. */
  engine: FakeEngine | undefined;
  isUnloaded: boolean;
};

export type FakeDriver = {
  readonly driver: EngineDriver;
  /** All loads so far, in order of their start. */
  readonly loads: readonly FakeLoad[];
  /** How many engines are loaded. */
  running(): number;
};

/** Loads immediately, or on `finish` if held, engines that crash on their first request. */
export function createFakeDriver({ isHeld = false } = {}): FakeDriver {
  const loads: FakeLoad[] = [];
  return {
    loads,
    running: () => loads.filter(({ engine, isUnloaded }) => engine !== undefined && !isUnloaded).length,
    driver: {
      async load(plan, { signal }) {
        const { promise, resolve, reject } = Promise.withResolvers<void>();
        const load: FakeLoad = {
          plan,
          signal,
          finish: resolve,
          fail: (failure) => reject(new FailureError<EngineFailure>(failure)),
          engine: undefined,
          isUnloaded: false,
        };
        loads.push(load);
        const cancel = (): void => reject(signal.reason);
        signal.addEventListener("abort", cancel);
        if (!isHeld) resolve();
        await promise;
        signal.removeEventListener("abort", cancel);
        const { contextTokens, sequences } = plan;
        const engine = createFakeEngine(() => [{ do: "crash", failure: crash }], {
          contextTokens,
          sequences,
          embedsBesideGeneration: plan.purpose === "generate",
        });
        void engine.closed.then(() => (load.isUnloaded = true));
        load.engine = engine;
        return engine;
      },
    },
  };
}

export const crash: EngineFailure = { kind: "engine-crashed", exitCode: null, signal: "SIGKILL" };

/** Makes an engine crash. */
export async function crashEngine(engine: FakeEngine | undefined): Promise<void> {
  if (engine === undefined) throw new Error("Cannot crash the engine: it is not loaded");
  const input = { type: "raw", prompt: "" } as const;
  const request = { input, sampling: greedySampling, maxTokens: 1, cachePartition: "" };
  const events = engine.generate(request, new AbortController().signal)[Symbol.asyncIterator]();
  await events.next().catch(() => undefined);
  await engine.closed;
}
