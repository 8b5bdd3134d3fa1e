import type { SchedulingEvent } from "./events.ts";
import type { SchedulingFailure } from "./failures.ts";
import type { SchedulingLimits } from "./limits.ts";
import type { Lease, QueuedLoadRequest } from "./load-request.ts";
import { estimateRetrySeconds, type QueuedRequest } from "./request-queue.ts";
import { sum } from "./running-models.ts";
import type { ScheduledModel } from "./scheduled-model.ts";

export type WaitingOptions = {
  readonly limits: SchedulingLimits;
  readonly listModels: () => readonly ScheduledModel[];
  readonly onEvent: ((event: SchedulingEvent) => void) | undefined;
};

const reportIntervalMilliseconds = 500;

/** Bounds the queues of all models, and reports to waiting clients how their positions fall. */
export class WaitingRequests {
  readonly #options: WaitingOptions;
  #timer: NodeJS.Timeout | undefined;

  constructor(options: WaitingOptions) {
    this.#options = options;
  }

  /** Undefined if the request may wait in the queue that it is in. */
  admit(
    model: ScheduledModel,
    queued: QueuedRequest<QueuedLoadRequest, Lease>,
  ): SchedulingFailure | undefined {
    if (this.#isOverfull(model, queued.owner.id)) return this.#queueFull(model, queued.owner.id);
    const { onQueued } = queued.request;
    if (onQueued === undefined) return undefined;
    const queuePosition = model.positions.find((each) => each.queued === queued);
    if (queuePosition !== undefined && queuePosition.position > 0)
      onQueued({ ...queuePosition, isArrival: true });
    this.#timer ??= setInterval(() => this.#report(), reportIntervalMilliseconds).unref();
    return undefined;
  }

  close(): void {
    clearInterval(this.#timer);
    this.#timer = undefined;
  }

  /**
   * Every owner has a queue of its own for each model, so that nobody is rejected because of the requests of others. The
   * bound for all models rejects only owners that have more than an equal share of it, so that at most twice as many wait.
   */
  #isOverfull(model: ScheduledModel, ownerId: string): boolean {
    const { maxQueuedPerModel, maxQueuedTotal } = this.#options.limits;
    if (model.queuedBeyondSlots(ownerId) > maxQueuedPerModel) return true;
    const models = this.#options.listModels();
    if (sum(models.map((each) => each.queuedBeyondSlots())) <= maxQueuedTotal) return false;
    const owners = new Set(models.flatMap(({ queue }) => queue.waitingOwners)).size;
    return sum(models.map((each) => each.queuedBeyondSlots(ownerId))) > maxQueuedTotal / owners;
  }

  #queueFull(model: ScheduledModel, ownerId: string): SchedulingFailure {
    const { key, purpose, meanLeaseMilliseconds, instance, queue } = model;
    const waiting = queue.waitingOf(ownerId) - 1;
    // The owner has only its share of the slots.
    const slots = (instance?.slots ?? 1) / queue.waitingOwners.length;
    this.#options.onEvent?.({ type: "queue-full", key, purpose, waiting });
    const retryAfterSeconds = estimateRetrySeconds({ waiting, slots, meanLeaseMilliseconds });
    return { kind: "queue-full", waiting, retryAfterSeconds };
  }

  /** Only positions that have fallen: a newcomer may be served before, but nobody is told that it moved back. */
  #report(): void {
    const waiting = this.#options.listModels().filter(({ queue }) => queue.clientLength > 0);
    if (waiting.length === 0) this.close();
    for (const queuePosition of waiting.flatMap(({ positions }) => positions)) {
      const { queued, position, waitedMilliseconds } = queuePosition;
      const isDue = waitedMilliseconds >= this.#options.limits.queueNoticeSeconds * 1000;
      if (!isDue || position === 0 || position >= queued.toldPosition) continue;
      queued.toldPosition = position;
      queued.request.onQueued?.(queuePosition);
    }
  }
}
