import { setTimeout as sleep } from "node:timers/promises";
import type { EngineEvent, EngineRequest } from "@hearth-and-keep/engine";
import { greedySampling } from "@hearth-and-keep/engine/testing";
import type { Discovery } from "../discovery.ts";
import type { EnginePool } from "../engine-pool.ts";
import { createEnginePool, type PoolOverrides, type PoolPlan } from "../pool-driver.ts";
import type { FakeEngine } from "./fake-engine.ts";

export const never = new AbortController().signal;

export const request = (text = "Hi"): EngineRequest => ({
  input: { type: "conversation", conversation: { messages: [{ role: "user", content: text }] } },
  maxTokens: 5,
  cachePartition: "",
  sampling: greedySampling,
});

type FakeEngines = readonly Pick<FakeEngine, "url">[];

export function planOf(engines: FakeEngines, changes: Partial<PoolPlan> = {}): PoolPlan {
  const addresses = engines.map(({ url }) => url);
  return {
    dialect: "vllm",
    engines: { type: "addresses", addresses },
    requestsPerEngine: 4,
    canSeeImages: false,
    canHearAudio: false,
    ...changes,
  };
}

export async function untilHealthy(pool: EnginePool, engines: number): Promise<void> {
  while (pool.snapshot().filter(({ state }) => state === "healthy").length < engines) await sleep(5);
}

/** A pool in which every engine is healthy. */
export async function poolOf(
  engines: FakeEngines,
  requestsPerEngine = 4,
  overrides: PoolOverrides = {},
): Promise<EnginePool> {
  const pool = createEnginePool(planOf(engines, { requestsPerEngine }), overrides);
  await untilHealthy(pool, engines.length);
  return pool;
}

export async function readText(events: AsyncIterable<EngineEvent>): Promise<string> {
  let text = "";
  for await (const event of events) if (event.type === "text-delta") text += event.text;
  return text;
}

/** A list of addresses that a test can replace. */
export function mutableList(first: readonly URL[]): Discovery & { replace(addresses: readonly URL[]): void } {
  let next = Promise.withResolvers<readonly URL[]>();
  next.resolve(first);
  return {
    replace(addresses) {
      next.resolve(addresses);
    },
    async *watch(signal) {
      const aborted = Promise.withResolvers<undefined>();
      signal.addEventListener("abort", () => aborted.resolve(undefined));
      for (;;) {
        const addresses = await Promise.race([next.promise, aborted.promise]);
        if (addresses === undefined) return;
        next = Promise.withResolvers();
        yield addresses;
      }
    },
  };
}
