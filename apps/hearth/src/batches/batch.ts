import type { Actor } from "../access/authenticate.ts";
import type { Stored } from "./keyed-store.ts";
import type { Reservation } from "./memory-ledger.ts";

/** One request of a batch, as it waits. */
export type BatchRequest = {
  /** Null if the request is too damaged to have one. */
  readonly customId: string | null;
  /** What it occupies until it has run. */
  readonly bytes: number;
  /** Parses the stored request; throws a RequestFailure if it is damaged. */
  readonly readBody: () => unknown;
};

/** How a batch calls a route, the same for all of its requests. */
export type RouteCall = {
  readonly path: string;
  readonly actor: Actor;
  /** Of the request that created the batch. */
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>;
  readonly clientAddress: string;
};

/** What the route answered. */
export type RouteAnswer = {
  readonly requestId: string;
  readonly status: number;
  readonly body: string;
  /** The value of the header `hearth-ignored`. */
  readonly ignored?: string;
};

export type Outcome = RouteAnswer | "canceled" | "expired";

export type BatchResult = {
  readonly type: "succeeded" | "errored" | "canceled" | "expired";
  /** One line of JSON in the format of the batch's API, with its line break. */
  readonly line: Buffer;
};

export type NewBatch = {
  readonly id: string;
  readonly call: RouteCall;
  readonly requests: readonly BatchRequest[];
  readonly formatLine: (customId: string | null, outcome: Outcome) => string;
  /** At least `batchBytes` of the requests. */
  readonly reservation: Reservation;
  readonly processingSeconds: number;
  readonly retentionSeconds: number;
};

/** For the entries of a request and the line of a failed one; kept as long as the batch. */
const requestOverheadBytes = 2048;

/** What the requests of a new batch occupy. */
export function batchBytes(requests: readonly BatchRequest[]): number {
  return requests.reduce((sum, { bytes }) => sum + bytes + requestOverheadBytes, 0);
}

/**
 * Requests that run in the background, and their results in the same order. Every request is settled exactly once:
 *
 *   waiting --start--> running --settle--> answered, or canceled, or expired
 *   waiting --stop--> canceled or expired
 *
 * The batch has ended when all are settled. `stop` also aborts the signal of the running ones.
 */
export class Batch implements Stored {
  readonly id: string;
  readonly call: RouteCall;
  readonly createdAt: Date = new Date();
  readonly expiresAt: Date;
  /** Resolves when the batch has ended. */
  readonly ended: Promise<void>;
  readonly #batch: NewBatch;
  readonly #requests: (BatchRequest | undefined)[];
  readonly #results: (BatchResult | undefined)[];
  readonly #end = Promise.withResolvers<void>();
  readonly #stop = new AbortController();
  #stoppedAs: "canceled" | "expired" | undefined;
  #next = 0;
  #unsettled: number;
  #bytes: number;
  #canceledAt: Date | undefined;
  #endedAt: Date | undefined;

  constructor(batch: NewBatch) {
    const { id, call, requests, processingSeconds } = batch;
    this.id = id;
    this.call = call;
    this.expiresAt = new Date(this.createdAt.getTime() + processingSeconds * 1000);
    this.ended = this.#end.promise;
    this.#batch = batch;
    this.#requests = [...requests];
    this.#results = requests.map(() => undefined);
    this.#unsettled = requests.length;
    this.#bytes = batchBytes(requests);
  }

  get canceledAt(): Date | undefined {
    return this.#canceledAt;
  }

  get endedAt(): Date | undefined {
    return this.#endedAt;
  }

  get deletedAt(): number {
    if (this.#endedAt === undefined) return Number.POSITIVE_INFINITY;
    return this.#endedAt.getTime() + this.#batch.retentionSeconds * 1000;
  }

  /** Aborts when the batch is canceled or expires. */
  get signal(): AbortSignal {
    return this.#stop.signal;
  }

  get hasWaiting(): boolean {
    return this.#stoppedAs === undefined && this.#next < this.#requests.length;
  }

  /** In the order of the requests; those that are not settled yet are absent. */
  get results(): readonly BatchResult[] {
    return this.#results.filter((result) => result !== undefined);
  }

  get requestCount(): number {
    return this.#requests.length;
  }

  count(type: BatchResult["type"]): number {
    return this.results.filter((result) => result.type === type).length;
  }

  /** The next waiting request and its position. */
  start(): { readonly index: number; readonly request: BatchRequest } | undefined {
    if (!this.hasWaiting) return undefined;
    const index = this.#next;
    this.#next += 1;
    const request = this.#requests[index];
    return request && { index, request };
  }

  /**
   * Stores the outcome of a running request; undefined if it was stopped. False if there is no memory for it, which a
   * short line always has.
   */
  settle(index: number, answer: RouteAnswer | undefined): boolean {
    const request = this.#requests[index];
    if (request === undefined) return true;
    const outcome = answer ?? this.#stoppedAs ?? "canceled";
    const line = Buffer.from(`${this.#batch.formatLine(request.customId, outcome)}\n`);
    const bytes = this.#bytes - request.bytes + (line.length > requestOverheadBytes ? line.length : 0);
    if (!this.#batch.reservation.resize(bytes)) return false;
    this.#bytes = bytes;
    this.#requests[index] = undefined;
    this.#results[index] = { type: typeof outcome === "string" ? outcome : typeOf(outcome), line };
    this.#unsettled -= 1;
    if (this.#unsettled === 0) this.#finish();
    return true;
  }

  /** Settles the waiting requests and aborts the running ones. */
  stop(as: "canceled" | "expired"): void {
    if (this.#endedAt !== undefined || this.#stoppedAs !== undefined) return;
    this.#stoppedAs = as;
    if (as === "canceled") this.#canceledAt = new Date();
    this.#stop.abort();
    for (let index = this.#next; index < this.#requests.length; index += 1) this.settle(index, undefined);
  }

  release(): void {
    this.#batch.reservation.release();
  }

  #finish(): void {
    this.#endedAt = new Date();
    this.#end.resolve();
  }
}

function typeOf({ status }: RouteAnswer): BatchResult["type"] {
  return status === 200 ? "succeeded" : "errored";
}
