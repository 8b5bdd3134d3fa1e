import { setTimeout as sleep } from "node:timers/promises";
import type { Scheduler } from "./scheduler.ts";

const pollMilliseconds = 50;

/**
 * Closes a scheduler after serving its queued requests as well, all within the grace period. Behind a load balancer
 * those requests have no other server to go to.
 */
export async function drainScheduler(
  scheduler: Pick<Scheduler, "queueLengths" | "close">,
  graceSeconds: number,
): Promise<void> {
  const deadline = performance.now() + graceSeconds * 1000;
  const hasQueuedRequests = (): boolean => scheduler.queueLengths().some(({ waiting }) => waiting > 0);
  while (hasQueuedRequests() && performance.now() < deadline) await sleep(pollMilliseconds);
  await scheduler.close(Math.max(0, (deadline - performance.now()) / 1000));
}
