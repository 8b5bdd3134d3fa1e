import { FailureError } from "@hearth-and-keep/failures";
import { createOutbound } from "@hearth-and-keep/outbound-http";
import { type ModelStores, openModelStore } from "../store/model-store.ts";
import { createTransfers, type TransferLimits } from "../transfers/create-transfers.ts";
import type { TransferProgress } from "../transfers/transfer.ts";

export type Puller = AsyncDisposable & {
  /** Returns "success" or the kind of the failure; other errors are thrown. */
  pull(name: string, listener?: PullListener): Promise<string>;
};

export type PullListener = {
  readonly signal?: AbortSignal;
  readonly onProgress?: (progress: TransferProgress) => void | Promise<void>;
};

/** Long enough that a busy machine does not look like a registry that has stopped sending. */
const defaultIdleSeconds = 20;

export type PullerLimits = Partial<Pick<TransferLimits, "idleSeconds" | "blocksPerRange">>;

/** Pulls into a folder like a freshly started server, only from this machine and with short retries. */
export async function openPuller(folder: string, limits: PullerLimits = {}): Promise<Puller> {
  return createPuller([await openModelStore(folder, "own")], limits);
}

export function createPuller(stores: ModelStores, limits: PullerLimits = {}): Puller {
  const { idleSeconds = defaultIdleSeconds } = limits;
  const outbound = createOutbound({ privateHosts: ["127.0.0.1"] });
  const transfers = createTransfers({
    stores,
    outbound: { request: (url, options) => outbound.request(url, { idleSeconds, ...options }) },
    credentials: { forHost: () => undefined },
    limits: {
      ...limits,
      idleSeconds,
      retryPolicy: {
        maxAttempts: 3,
        initialDelayMilliseconds: 5,
        maxDelayMilliseconds: 50,
        maxRetryAfterMilliseconds: 1500,
      },
    },
  });
  return {
    async pull(name, { signal = new AbortController().signal, onProgress } = {}) {
      try {
        for await (const progress of transfers.pull({ name, isInsecure: true, signal })) {
          await onProgress?.(progress);
        }
        return "success";
      } catch (error) {
        if (!(error instanceof FailureError)) throw error;
        // Every failure has a kind.
        return (error.failure as { kind: string }).kind;
      }
    },
    [Symbol.asyncDispose]: () => outbound[Symbol.asyncDispose](),
  };
}
