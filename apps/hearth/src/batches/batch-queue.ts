import { requestFailure } from "../failures.ts";
import type { Batch, BatchRequest, RouteAnswer, RouteCall } from "./batch.ts";

/** Calls a route with one request of a batch. Rejects only if the signal aborts. */
export type CallRoute = (
  call: RouteCall & Pick<BatchRequest, "readBody">,
  signal: AbortSignal,
) => Promise<RouteAnswer>;

/** Runs the requests of all batches, a few at a time. Keys take turns; the batches of a key run in order of creation. */
export class BatchQueue {
  readonly #callRoute: CallRoute;
  readonly #maxRunning: number;
  /** Batches with waiting requests by the name of their key; the first key is next. */
  readonly #waiting = new Map<string, Batch[]>();
  readonly #unfinished = new Map<Batch, NodeJS.Timeout>();
  #running = 0;

  constructor(callRoute: CallRoute, maxRunning: number) {
    this.#callRoute = callRoute;
    this.#maxRunning = maxRunning;
  }

  add(batch: Batch): void {
    const { keyName } = batch.call.actor;
    this.#waiting.set(keyName, [...(this.#waiting.get(keyName) ?? []), batch]);
    const remaining = batch.expiresAt.getTime() - Date.now();
    const timer = setTimeout(() => batch.stop("expired"), remaining).unref();
    this.#unfinished.set(batch, timer);
    void this.#forget(batch, timer);
    this.#startNext();
  }

  async #forget(batch: Batch, timer: NodeJS.Timeout): Promise<void> {
    await batch.ended;
    clearTimeout(timer);
    this.#unfinished.delete(batch);
  }

  /** Cancels everything; results that nobody has fetched are lost with the process. */
  close(): void {
    for (const batch of this.#unfinished.keys()) batch.stop("canceled");
  }

  #startNext(): void {
    while (this.#running < this.#maxRunning) {
      const batch = this.#findNext();
      if (batch === undefined) return;
      void this.#runOne(batch);
    }
  }

  #findNext(): Batch | undefined {
    for (const [keyName, batches] of this.#waiting) {
      this.#waiting.delete(keyName);
      const waiting = batches.filter(({ hasWaiting }) => hasWaiting);
      const [first] = waiting;
      if (first === undefined) continue;
      // At the end: the other keys come first.
      this.#waiting.set(keyName, waiting);
      return first;
    }
    return undefined;
  }

  async #runOne(batch: Batch): Promise<void> {
    const started = batch.start();
    if (started === undefined) return;
    const { index, request } = started;
    this.#running += 1;
    const answer = await this.#callRoute({ ...batch.call, readBody: request.readBody }, batch.signal).catch(
      () => undefined,
    );
    if (!batch.settle(index, answer)) batch.settle(index, await this.#answerFull(batch));
    this.#running -= 1;
    this.#startNext();
  }

  /** The error of a request whose answer does not fit into the memory of its key. */
  #answerFull({ call }: Batch): Promise<RouteAnswer> {
    const reason = "there is no memory for this result; delete files or batches";
    const readBody = (): never => {
      throw requestFailure({ kind: "batch-storage-full", reason });
    };
    return this.#callRoute({ ...call, readBody }, new AbortController().signal);
  }
}
