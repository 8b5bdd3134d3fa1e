import type { RegistryParts } from "../registry/registry-client.ts";
import type { Patience } from "../registry/retry-policy.ts";
import type { ModelStores } from "../store/model-store.ts";
import { explainWriteProblem } from "../store/stage-content.ts";
import { openVerifiedBlobs } from "../store/verified-blobs.ts";
import { createLanes } from "./connection-limiter.ts";
import { type PullParts, pullModel } from "./pull-model.ts";
import { pushModel } from "./push-model.ts";
import { createRateLimit } from "./rate-limit.ts";
import { createSharedDownloads } from "./shared-downloads.ts";
import type { TransferProgress, Transfers } from "./transfer.ts";

export type TransferLimits = {
  /** Ranges that are fetched at once, in all and from one host. */
  readonly rangesAtOnce: number;
  readonly rangesToHost: number;
  readonly idleSeconds: number;
  readonly leastBytesPerSecond: number;
  readonly patience: Patience;
  /** For all pulls together; absent for no limit. */
  readonly bytesPerSecond?: number;
};

export type TransfersParts = RegistryParts & {
  readonly stores: ModelStores;
  readonly limits?: Partial<TransferLimits>;
};

const usualLimits: TransferLimits = {
  rangesAtOnce: 8,
  rangesToHost: 4,
  idleSeconds: 30,
  leastBytesPerSecond: 512,
  patience: { tries: 6, firstWaitMilliseconds: 500, longestWaitMilliseconds: 15_000 },
};

export function createTransfers({ stores, outbound, credentials, limits = {} }: TransfersParts): Transfers {
  const { rangesAtOnce, rangesToHost, bytesPerSecond, ...usual } = { ...usualLimits, ...limits };
  const [store] = stores;
  const parts: PullParts = {
    ...usual,
    stores,
    store,
    outbound,
    credentials,
    rangesAtOnce: rangesToHost,
    lanes: createLanes({ most: rangesAtOnce, mostToHost: rangesToHost }),
    rate: createRateLimit(bytesPerSecond),
    downloads: createSharedDownloads(),
    verified: openVerifiedBlobs(store),
  };
  return {
    pull: (wish) => explainDisk(pullModel(wish, parts)),
    push: (wish) => pushModel(wish, { stores, outbound, credentials, patience: usual.patience }),
  };
}

/** What a disk says, anywhere on the way, becomes what a person can do about it. */
async function* explainDisk(steps: AsyncIterable<TransferProgress>): AsyncGenerator<TransferProgress> {
  try {
    yield* steps;
  } catch (problem) {
    throw explainWriteProblem(problem);
  }
}
