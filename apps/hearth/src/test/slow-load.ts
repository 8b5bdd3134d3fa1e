import { setTimeout as sleep } from "node:timers/promises";
import type { EngineDriver, EngineFailure } from "@hearth-and-keep/engine";
import { createFakeEngine } from "@hearth-and-keep/engine/testing";
import { FailureError } from "@hearth-and-keep/failures";
import { startTestServer, type TestServer, tiny } from "./start-test-server.ts";

export type SlowLoadOptions = {
  /** How long 40 % of the model are loaded. */
  readonly milliseconds: number;
  /** Instead of loading the rest. */
  readonly failure?: EngineFailure;
  /** Unloads the model after each request. */
  readonly forgets?: boolean;
};

/** A server on which the model `tiny` loads slowly, and then writes "Hello". */
export function startSlowServer({
  milliseconds,
  failure,
  forgets = false,
}: SlowLoadOptions): Promise<TestServer> {
  const driver: EngineDriver = {
    async load({ contextTokens, sequences }, { onProgress, signal }) {
      onProgress(0.4);
      await sleep(milliseconds, undefined, { signal });
      if (failure !== undefined) throw new FailureError<EngineFailure>(failure);
      onProgress(0.8);
      const steps = [
        { do: "write", text: "Hello" },
        { do: "end", reason: "stop" },
      ] as const;
      return createFakeEngine(() => steps, { contextTokens, sequences });
    },
  };
  return startTestServer({ models: { tiny }, driver, limits: forgets ? { keepAlive: 0 } : {} });
}
