/**
 * @module
 * Batches: requests that run in the background, behind all requests that a client waits for. Each runs through the route
 * that would answer it over HTTP, so its result is the same, and a failed one never ends its batch. Everything is in
 * memory, belongs to the API key that created it, and is bounded in number, bytes and time; it is lost when the server
 * stops. Knows no dialect: they pass in the requests, and the format of a line of results.
 * Imported by `dialects/`, `dependencies.ts` and `server.ts`, which creates it.
 */
import { randomUUID } from "node:crypto";
import type { HttpRequest } from "@hearth-and-keep/http-service";
import type { Actor } from "../access/authenticate.ts";
import { Batch, type BatchRequest, batchBytes, type NewBatch, type RouteCall } from "./batch.ts";
import { BatchQueue, type CallRoute } from "./batch-queue.ts";
import { KeyedStore, type KeyedStoreOptions, type Stored } from "./keyed-store.ts";
import { type BatchLimits, defaultBatchLimits } from "./limits.ts";
import { MemoryLedger } from "./memory-ledger.ts";

export type Batches = {
  readonly limits: BatchLimits;
  readonly ledger: MemoryLedger;
  readonly queue: BatchQueue;
  /** A store for batches of one format, or for files. `plural` names them in errors. */
  createStore<Item extends Stored>(options: Pick<KeyedStoreOptions, "maxItems" | "plural">): KeyedStore<Item>;
  /** Stops all batches. */
  close(): void;
};

const deleteIntervalMilliseconds = 600_000;

export function createBatches(callRoute: CallRoute, changed: Partial<BatchLimits> = {}): Batches {
  const limits = { ...defaultBatchLimits, ...changed };
  const queue = new BatchQueue(callRoute, limits.maxRunning);
  const stores: Pick<KeyedStore<Stored>, "deleteExpired">[] = [];
  const deleteExpired = (): void => {
    for (const store of stores) store.deleteExpired();
  };
  const timer = setInterval(deleteExpired, deleteIntervalMilliseconds).unref();
  return {
    limits,
    ledger: new MemoryLedger(limits),
    queue,
    createStore: <Item extends Stored>(options: Pick<KeyedStoreOptions, "maxItems" | "plural">) => {
      const store = new KeyedStore<Item>(options);
      stores.push(store);
      return store;
    },
    close: () => {
      clearInterval(timer);
      queue.close();
    },
  };
}

export type BatchToStart = Pick<NewBatch, "id" | "call" | "formatLine"> & {
  readonly requests: readonly BatchRequest[];
};

/** Throws a RequestFailure if the key has no memory for the requests. */
export function startBatch(batch: BatchToStart, { limits, ledger, queue }: Batches): Batch {
  const reservation = ledger.reserve(batch.call.actor.keyName, batchBytes(batch.requests));
  const started = new Batch({ ...limits, ...batch, reservation });
  queue.add(started);
  return started;
}

export function createStoredId(prefix: string): string {
  return prefix + randomUUID().replaceAll("-", "");
}

/** Credentials are not kept: the actor is known. */
const keptHeaders = ["anthropic-beta", "anthropic-version"];

/** How the requests of a batch call a route, on behalf of the request that creates it. */
export function routeCallFor(
  path: string,
  { actor, headers, clientAddress }: Pick<HttpRequest<Actor>, "actor" | "headers" | "clientAddress">,
): RouteCall {
  const kept = keptHeaders.map((name) => [name, headers[name]] as const);
  return { path, actor, clientAddress, headers: Object.fromEntries(kept) };
}
