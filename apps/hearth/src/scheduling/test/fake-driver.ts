import type { EngineDriver, EngineFailure, LoadPlan } from "@hearth-and-keep/engine";
import { createScriptedEngine, greedySampling, type ScriptedEngine } from "@hearth-and-keep/engine/testing";
import { FailureError } from "@hearth-and-keep/failures";

type ScriptedLoad = {
  readonly plan: LoadPlan;
  readonly signal: AbortSignal;
  /** Lets a held load end well. */
  finish(): void;
  fail(failure: EngineFailure): void;
  /** There once the load has ended well. */
  engine: ScriptedEngine | undefined;
  isUnloaded: boolean;
};

export type ScriptedDriver = {
  readonly driver: EngineDriver;
  /** Every load so far, in the order they began. */
  readonly loads: readonly ScriptedLoad[];
  /** Loaded and not unloaded. */
  running(): number;
};

/** Loads at once, or when told to, an engine whose requests bring it down. */
export function createScriptedDriver({ isHeld = false } = {}): ScriptedDriver {
  const loads: ScriptedLoad[] = [];
  return {
    loads,
    running: () => loads.filter(({ engine, isUnloaded }) => engine !== undefined && !isUnloaded).length,
    driver: {
      async load(plan, { signal }) {
        const { promise, resolve, reject } = Promise.withResolvers<void>();
        const load: ScriptedLoad = {
          plan,
          signal,
          finish: resolve,
          fail: (failure) => reject(new FailureError<EngineFailure>(failure)),
          engine: undefined,
          isUnloaded: false,
        };
        loads.push(load);
        const callOff = (): void => reject(signal.reason);
        signal.addEventListener("abort", callOff);
        if (!isHeld) resolve();
        await promise;
        signal.removeEventListener("abort", callOff);
        const { contextTokens, sequences } = plan;
        const engine = createScriptedEngine(() => [{ do: "die", failure: death }], {
          contextTokens,
          sequences,
        });
        void engine.ended.then(() => (load.isUnloaded = true));
        load.engine = engine;
        return engine;
      },
    },
  };
}

export const death: EngineFailure = { kind: "engine-died", exitCode: null, signal: "SIGKILL" };

/** Brings an engine down as a crash would. */
export async function kill(engine: ScriptedEngine | undefined): Promise<void> {
  if (engine === undefined) throw new Error("Cannot kill: the engine is not loaded");
  const input = { type: "raw", prompt: "" } as const;
  const request = { input, sampling: greedySampling, mostTokens: 1, cachePartition: "" };
  const events = engine.generate(request, new AbortController().signal)[Symbol.asyncIterator]();
  await events.next().catch(() => undefined);
  await engine.ended;
}
