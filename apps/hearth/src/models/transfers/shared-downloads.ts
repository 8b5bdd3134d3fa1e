import { setTimeout as sleep } from "node:timers/promises";
import type { BlobReference } from "../store/blob-store.ts";
import type { Digest } from "../store/digest.ts";

/** Starts the download of a blob; resolves when the blob is in the store. */
export type StartDownload = (options: {
  readonly signal: AbortSignal;
  readonly onProgress: (completedBytes: number) => void;
}) => Promise<void>;

export type SharedDownloads = {
  /**
   * Joins the running download of a blob, or starts it. Yields the completed bytes at intervals until the blob is in
   * the store. The download is aborted when its last subscriber leaves.
   */
  join(blob: BlobReference, start: StartDownload, signal: AbortSignal): AsyncIterable<number>;
};

type SharedDownload = {
  readonly size: number;
  readonly done: Promise<void>;
  readonly abort: AbortController;
  /** The bytes of earlier attempts, once known; every subscriber receives them first. */
  startBytes?: number;
  completedBytes: number;
  subscribers: number;
};

const progressIntervalMilliseconds = 60;

export function createSharedDownloads(): SharedDownloads {
  const running = new Map<Digest, SharedDownload>();
  function begin({ digest, size }: BlobReference, start: StartDownload): SharedDownload {
    const abort = new AbortController();
    const { promise: done, resolve } = Promise.withResolvers<void>();
    const shared: SharedDownload = { size, done, abort, completedBytes: 0, subscribers: 0 };
    running.set(digest, shared);
    const onProgress = (completedBytes: number): void => {
      shared.startBytes ??= completedBytes;
      shared.completedBytes = completedBytes;
    };
    resolve(start({ signal: abort.signal, onProgress }).finally(() => running.delete(digest)));
    // Subscribers handle a failure; without any, it must not become an unhandled rejection.
    done.catch(() => undefined);
    return shared;
  }
  return {
    async *join(blob, start, signal) {
      for (;;) {
        signal.throwIfAborted();
        const found = running.get(blob.digest);
        if (found !== undefined && !isJoinable(found, blob)) {
          await found.done.catch(() => undefined);
          continue;
        }
        const shared = found ?? begin(blob, start);
        shared.subscribers += 1;
        try {
          yield* watchProgress(shared, signal);
          return;
        } catch (error) {
          // A joined download may have failed because of its own registry; ours may work.
          if (signal.aborted || found === undefined) throw error;
        } finally {
          shared.subscribers -= 1;
          if (shared.subscribers === 0) shared.abort.abort();
        }
      }
    },
  };
}

/** An aborted download, or one that expects another size, is awaited instead of joined. */
function isJoinable({ size, abort }: SharedDownload, blob: BlobReference): boolean {
  return size === blob.size && !abort.signal.aborted;
}

async function* watchProgress(shared: SharedDownload, signal: AbortSignal): AsyncGenerator<number> {
  let reported: number | undefined;
  const done = shared.done.then(() => true);
  for (;;) {
    const pause = sleep(progressIntervalMilliseconds, false, { signal });
    if (await Promise.race([done, pause])) return;
    const current = reported === undefined ? shared.startBytes : shared.completedBytes;
    if (current !== undefined && reported !== current) yield (reported = current);
  }
}
