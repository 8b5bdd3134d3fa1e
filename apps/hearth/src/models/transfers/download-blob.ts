import { modelFailure } from "../model-failure.ts";
import type { BlobSource, ByteRange } from "../registry/blob-source.ts";
import { mapOutboundError } from "../registry/map-outbound-error.ts";
import { isTransient, type RetryPolicy, unwrapCause, waitBeforeRetry } from "../registry/retry-policy.ts";
import { type BlobReference, commitBlob } from "../store/blob-store.ts";
import type { ModelStore } from "../store/model-store.ts";
import { type FetchDependencies, fetchRange } from "./fetch-range.ts";
import { blockBytes, openPartialFile, type PartialFile } from "./partial-file.ts";

export type DownloadDependencies = FetchDependencies & {
  readonly store: ModelStore;
  readonly retryPolicy: RetryPolicy;
  /** Ranges of one blob that are fetched concurrently. */
  readonly maxConcurrentRanges: number;
  readonly blocksPerRange: number;
};

export type Download = {
  readonly blob: BlobReference;
  readonly source: BlobSource;
  readonly signal: AbortSignal;
  readonly onProgress: (completedBytes: number) => void;
};

/** How often blocks that were corrupted on our own disk are fetched again before the download fails. */
const maxRounds = 5;

/**
 * Downloads a blob into the store. Blocks of earlier attempts are reused and ranges are fetched concurrently; the blob
 * gets its name only when the hash of the content on disk equals its digest. Complete content with a wrong hash is
 * downloaded once more.
 */
export async function downloadBlob(download: Download, dependencies: DownloadDependencies): Promise<void> {
  const { blob } = download;
  const { store } = dependencies;
  await using file = await openPartialFile(store, blob);
  let hadWrongDigest = false;
  for (let round = 0; round < maxRounds; round += 1) {
    download.onProgress(file.completedBytes);
    await fetchMissing(file, download, dependencies);
    const digest = await file.finish();
    if (digest === undefined) continue;
    if (digest === blob.digest) {
      const staged = { path: file.path, ...blob, [Symbol.asyncDispose]: () => Promise.resolve() };
      await store.runExclusive(() => commitBlob(store, staged));
      await file.remove();
      return;
    }
    await file.clear();
    if (hadWrongDigest) break;
    hadWrongDigest = true;
  }
  await file.remove();
  throw modelFailure({ kind: "transfer-corrupted", digest: blob.digest });
}

/**
 * The first worker finds out whether the server supports ranges; the others start after its response headers. The
 * first failure stops all workers.
 */
async function fetchMissing(
  file: PartialFile,
  download: Download,
  dependencies: DownloadDependencies,
): Promise<void> {
  const failed = new AbortController();
  const signal = AbortSignal.any([download.signal, failed.signal]);
  const { promise: firstResponse, resolve: onFirstResponse } = Promise.withResolvers<void>();
  const queue = createRangeQueue(file, dependencies.blocksPerRange);
  const job: FetchJob = { queue, onFirstResponse, file, download: { ...download, signal } };
  const workers = Array.from({ length: dependencies.maxConcurrentRanges }, async (_none, index) => {
    try {
      if (index > 0) await firstResponse;
      await fetchRanges(job, dependencies);
    } catch (error) {
      failed.abort(error);
      throw error;
    } finally {
      onFirstResponse();
    }
  });
  const results = await Promise.allSettled(workers);
  download.signal.throwIfAborted();
  // The first failure is the cause; the other workers only report that they were aborted.
  if (failed.signal.aborted) throw failed.signal.reason;
  for (const result of results) if (result.status === "rejected") throw result.reason;
}

type FetchJob = {
  readonly queue: RangeQueue;
  readonly onFirstResponse: () => void;
  readonly file: PartialFile;
  readonly download: Download;
};

async function fetchRanges(
  { queue, onFirstResponse, file, download }: FetchJob,
  dependencies: DownloadDependencies,
): Promise<void> {
  const { source, signal, onProgress } = download;
  const { retryPolicy } = dependencies;
  let failures = 0;
  for (let range = queue.claim(); range !== undefined; range = queue.claim()) {
    try {
      await fetchRange(
        {
          range,
          source,
          file,
          signal,
          onResponse({ isFullBlob }) {
            if (isFullBlob) queue.setRangesUnsupported();
            onFirstResponse();
          },
          onBlock() {
            failures = 0;
            onProgress(file.completedBytes);
          },
        },
        dependencies,
      );
    } catch (caught) {
      signal.throwIfAborted();
      const error = mapOutboundError(caught);
      failures += 1;
      if (!isTransient(error) || failures >= retryPolicy.maxAttempts) throw unwrapCause(error);
      await waitBeforeRetry(failures, error, { retryPolicy, signal });
    } finally {
      queue.release(range);
    }
  }
}

/** Hands out ranges of missing blocks to the workers. */
type RangeQueue = {
  /** The next missing blocks that no worker is fetching; undefined when there are none. */
  claim(): ByteRange | undefined;
  release(range: ByteRange): void;
  /** From now on a single worker fetches the whole blob. */
  setRangesUnsupported(): void;
};

function createRangeQueue(file: PartialFile, blocksPerRange: number): RangeQueue {
  const claimed = new Set<number>();
  let firstMissing = 0;
  let supportsRanges = true;
  const isAvailable = (block: number): boolean =>
    block < file.blockCount && !file.has(block) && !claimed.has(block);
  return {
    claim() {
      while (firstMissing < file.blockCount && file.has(firstMissing)) firstMissing += 1;
      let first = firstMissing;
      while (first < file.blockCount && !isAvailable(first)) first += 1;
      if (first === file.blockCount || (!supportsRanges && claimed.size > 0)) return undefined;
      let last = first;
      while (last - first + 1 < blocksPerRange && isAvailable(last + 1)) last += 1;
      for (let block = first; block <= last; block += 1) claimed.add(block);
      return { first: first * blockBytes, last: last * blockBytes + file.lengthOf(last) - 1 };
    },
    release({ first, last }) {
      for (let block = first / blockBytes; block * blockBytes <= last; block += 1) claimed.delete(block);
    },
    setRangesUnsupported() {
      supportsRanges = false;
    },
  };
}
