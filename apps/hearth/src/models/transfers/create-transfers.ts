import type { RegistryDependencies } from "../registry/registry-client.ts";
import type { RetryPolicy } from "../registry/retry-policy.ts";
import type { ModelStores } from "../store/model-store.ts";
import { mapWriteError } from "../store/staged-content.ts";
import { openVerifiedBlobs } from "../store/verified-blobs.ts";
import { createConnectionLimiter } from "./connection-limiter.ts";
import { type PullDependencies, pullModel } from "./pull-model.ts";
import { pushModel } from "./push-model.ts";
import { createRateLimit } from "./rate-limit.ts";
import { createSharedDownloads } from "./shared-downloads.ts";
import type { TransferProgress, Transfers } from "./transfer.ts";

export type TransferLimits = {
  /** Concurrent downloads of ranges, in total and from one host. */
  readonly maxConnections: number;
  readonly maxConnectionsPerHost: number;
  /** Blocks of 1 MiB that one request asks for. */
  readonly blocksPerRange: number;
  readonly idleSeconds: number;
  readonly minBytesPerSecond: number;
  readonly retryPolicy: RetryPolicy;
  /** Shared by all pulls; absent for no limit. */
  readonly maxBytesPerSecond?: number;
};

export type TransfersDependencies = RegistryDependencies & {
  readonly stores: ModelStores;
  readonly limits?: Partial<TransferLimits>;
};

const defaultLimits: TransferLimits = {
  maxConnections: 8,
  maxConnectionsPerHost: 4,
  blocksPerRange: 16,
  idleSeconds: 30,
  minBytesPerSecond: 512,
  retryPolicy: { maxAttempts: 6, initialDelayMilliseconds: 500, maxDelayMilliseconds: 15_000 },
};

export function createTransfers({
  stores,
  outbound,
  credentials,
  limits = {},
}: TransfersDependencies): Transfers {
  const { maxConnections, maxConnectionsPerHost, maxBytesPerSecond, ...others } = {
    ...defaultLimits,
    ...limits,
  };
  const [store] = stores;
  const dependencies: PullDependencies = {
    ...others,
    stores,
    store,
    outbound,
    credentials,
    maxConcurrentRanges: maxConnectionsPerHost,
    connectionLimiter: createConnectionLimiter({ maxConnections, maxConnectionsPerHost }),
    rateLimit: createRateLimit(maxBytesPerSecond),
    downloads: createSharedDownloads(),
    verified: openVerifiedBlobs(store),
  };
  const { retryPolicy } = others;
  return {
    pull: (request) => mapDiskErrors(pullModel(request, dependencies)),
    push: (request) => pushModel(request, { stores, outbound, credentials, retryPolicy }),
  };
}

/** Maps errors of the disk from any step to model failures. */
async function* mapDiskErrors(steps: AsyncIterable<TransferProgress>): AsyncGenerator<TransferProgress> {
  try {
    yield* steps;
  } catch (error) {
    throw mapWriteError(error);
  }
}
