import { setTimeout as sleep } from "node:timers/promises";
import type { Scheduler } from "./scheduler.ts";

const lookAgainMilliseconds = 50;

/**
 * Ends a scheduler that took requests until a moment ago: who waits is served too, within the same grace. Its callers
 * were sent here by a balancer, which knows nobody else to ask for them.
 */
export async function closeServed(
  scheduler: Pick<Scheduler, "queueLengths" | "close">,
  graceSeconds: number,
): Promise<void> {
  const isOverAt = performance.now() + graceSeconds * 1000;
  const isWaitedFor = (): boolean => scheduler.queueLengths().some(({ waiting }) => waiting > 0);
  while (isWaitedFor() && performance.now() < isOverAt) await sleep(lookAgainMilliseconds);
  await scheduler.close(Math.max(0, (isOverAt - performance.now()) / 1000));
}
