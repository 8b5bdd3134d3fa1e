/**
 * @module
 * For scheduler tests: a scheduler over a fake driver, and models with round memory sizes.
 * Imported by the tests of `scheduling/` only.
 */
import type { SchedulingEvent } from "../events.ts";
import type { SchedulingLimits } from "../limits.ts";
import type { Lease, LoadRequest } from "../load-request.ts";
import { createScheduler, type Scheduler } from "../scheduler.ts";
import { createFakeDriver, type FakeDriver } from "./fake-driver.ts";

export const never: AbortSignal = new AbortController().signal;

export type SchedulerFixture = FakeDriver & {
  readonly scheduler: Scheduler;
  readonly events: readonly SchedulingEvent[];
  acquire(key: string, changes?: Partial<LoadRequest>, signal?: AbortSignal): Promise<Lease>;
  /** All unloads so far, as "key reason". */
  unloads(): readonly string[];
};

/** With its own limits: 100 tokens of context, two sequences, and memory for everything. */
export function createFixture(
  limits: Partial<SchedulingLimits> = {},
  { isHeld = false } = {},
): SchedulerFixture {
  const fake = createFakeDriver({ isHeld });
  const events: SchedulingEvent[] = [];
  const scheduler = createScheduler({
    driver: fake.driver,
    limits: { memoryBudgetBytes: 1_000_000, contextTokens: 100, sequences: 2, ...limits },
    onEvent: (event) => events.push(event),
  });
  return {
    ...fake,
    scheduler,
    events,
    acquire: (key, changes = {}, signal = never) => scheduler.acquire(loadRequest(key, changes), signal),
    unloads: () =>
      events.flatMap((event) => (event.type === "model-unloaded" ? `${event.key} ${event.reason}` : [])),
  };
}

/** A model of 1,000 bytes with four bytes of context per token: 1,400 bytes at 100 tokens, 1,800 with two sequences. */
export function loadRequest(key: string, changes: Partial<LoadRequest> = {}): LoadRequest {
  return {
    key,
    modelPath: `${key}.gguf`,
    purpose: "generate",
    trainedContextTokens: 1000,
    size: { fileBytes: 1000, layers: 1, keyValueHeads: 1, headSize: 1 },
    ...changes,
  };
}

export function release(lease: Lease): void {
  lease[Symbol.dispose]();
}

/** Whether a promise is settled after all pending microtasks. */
export async function isSettled(promise: Promise<unknown>): Promise<boolean> {
  let isDone = false;
  void promise.then(() => (isDone = true)).catch(() => (isDone = true));
  await settle();
  return isDone;
}

/** Runs pending microtasks; works with fake timers too. */
export async function settle(): Promise<void> {
  for (let turn = 0; turn < 30; turn += 1) await Promise.resolve();
}
