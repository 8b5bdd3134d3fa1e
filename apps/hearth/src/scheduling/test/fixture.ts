/**
 * @module
 * For tests of scheduling: a scheduler over a driver that loads when told, and models whose memory is easily counted.
 * The engines are the scripted ones behind the same port.
 * Imported by the tests of `scheduling/` only.
 */
import type { SchedulingEvent } from "../events.ts";
import type { SchedulingLimits } from "../limits.ts";
import type { Lease, ModelWish } from "../load-request.ts";
import { createScheduler, type Scheduler } from "../scheduler.ts";
import { createScriptedDriver, type ScriptedDriver } from "./fake-driver.ts";

export const never: AbortSignal = new AbortController().signal;

export type Stage = ScriptedDriver & {
  readonly scheduler: Scheduler;
  readonly events: readonly SchedulingEvent[];
  lend(key: string, changes?: Partial<ModelWish>, signal?: AbortSignal): Promise<Lease>;
  /** The reasons of unloads so far, as "key reason". */
  unloads(): readonly string[];
};

/** With limits unlike the defaults: 100 tokens of context, two sequences, room for everything. */
export function setStage(limits: Partial<SchedulingLimits> = {}, { isHeld = false } = {}): Stage {
  const scripted = createScriptedDriver({ isHeld });
  const events: SchedulingEvent[] = [];
  const scheduler = createScheduler({
    driver: scripted.driver,
    limits: { memoryBudgetBytes: 1_000_000, contextTokens: 100, sequences: 2, ...limits },
    onEvent: (event) => events.push(event),
  });
  return {
    ...scripted,
    scheduler,
    events,
    lend: (key, changes = {}, signal = never) => scheduler.lend(wishFor(key, changes), signal),
    unloads: () =>
      events.flatMap((event) => (event.type === "model-unloaded" ? `${event.key} ${event.reason}` : [])),
  };
}

/** A model of 1,000 bytes whose context takes four bytes a token: 1,400 bytes at 100 tokens, 1,800 with two sequences. */
export function wishFor(key: string, changes: Partial<ModelWish> = {}): ModelWish {
  return {
    key,
    modelPath: `${key}.gguf`,
    purpose: "generate",
    trainedContextTokens: 1000,
    size: { fileBytes: 1000, layers: 1, keyValueHeads: 1, headSize: 1 },
    ...changes,
  };
}

export function giveBack(lease: Lease): void {
  lease[Symbol.dispose]();
}

/** Whether a promise is settled, after everything that can happen now has happened. */
export async function isSettled(promise: Promise<unknown>): Promise<boolean> {
  let isDone = false;
  void promise.then(() => (isDone = true)).catch(() => (isDone = true));
  await settle();
  return isDone;
}

/** Lets every promise that can go on go on; the timers may be fake. */
export async function settle(): Promise<void> {
  for (let turn = 0; turn < 30; turn += 1) await Promise.resolve();
}
