import { FailureError } from "@hearth-and-keep/failures";
import { createOutbound } from "@hearth-and-keep/outbound-http";
import { type ModelStores, openModelStore } from "../store/model-store.ts";
import { createTransfers } from "../transfers/create-transfers.ts";
import type { TransferProgress } from "../transfers/transfer.ts";

export type Puller = AsyncDisposable & {
  /** "success", or the kind of the failure; what is no failure of ours is thrown. */
  pull(name: string, listener?: Listener): Promise<string>;
};

export type Listener = {
  readonly signal?: AbortSignal;
  readonly onProgress?: (progress: TransferProgress) => void | Promise<void>;
};

const idleSeconds = 1;

/** Pulls into a folder as a server does that has just started, from this machine alone and with little patience. */
export async function openPuller(folder: string): Promise<Puller> {
  return createPuller([await openModelStore(folder, "own")]);
}

export function createPuller(stores: ModelStores): Puller {
  const outbound = createOutbound({ privateHosts: ["127.0.0.1"] });
  const transfers = createTransfers({
    stores,
    outbound: { request: (url, plan) => outbound.request(url, { idleSeconds, ...plan }) },
    credentials: { forHost: () => undefined },
    limits: {
      idleSeconds,
      patience: {
        tries: 3,
        firstWaitMilliseconds: 5,
        longestWaitMilliseconds: 50,
        longestAskedMilliseconds: 1500,
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
      } catch (problem) {
        if (!(problem instanceof FailureError)) throw problem;
        // Every failure of ours has a kind.
        return (problem.failure as { kind: string }).kind;
      }
    },
    [Symbol.asyncDispose]: () => outbound[Symbol.asyncDispose](),
  };
}
