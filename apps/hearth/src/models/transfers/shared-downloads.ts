import { setTimeout as wait } from "node:timers/promises";
import type { BlobReference } from "../store/blob-store.ts";
import type { Digest } from "../store/digest.ts";

/** Starts the one download of a blob; resolves when the blob is in the store. */
export type StartDownload = (running: {
  readonly signal: AbortSignal;
  readonly onProgress: (completedBytes: number) => void;
}) => Promise<void>;

export type SharedDownloads = {
  /** Completed bytes from time to time until the blob is here; the download ends with its last follower. */
  follow(blob: BlobReference, start: StartDownload, signal: AbortSignal): AsyncIterable<number>;
};

type Shared = {
  readonly size: number;
  readonly done: Promise<void>;
  readonly ending: AbortController;
  /** What earlier attempts left, once that is known; whoever follows hears it first. */
  startBytes?: number;
  completedBytes: number;
  followers: number;
};

const leastMillisecondsBetween = 60;

export function createSharedDownloads(): SharedDownloads {
  const running = new Map<Digest, Shared>();
  function begin({ digest, size }: BlobReference, start: StartDownload): Shared {
    const ending = new AbortController();
    const { promise: done, resolve } = Promise.withResolvers<void>();
    const shared: Shared = { size, done, ending, completedBytes: 0, followers: 0 };
    running.set(digest, shared);
    const onProgress = (completedBytes: number): void => {
      shared.startBytes ??= completedBytes;
      shared.completedBytes = completedBytes;
    };
    resolve(start({ signal: ending.signal, onProgress }).finally(() => running.delete(digest)));
    // Each follower hears of a failure; one that left does not.
    done.catch(() => undefined);
    return shared;
  }
  return {
    async *follow(blob, start, signal) {
      for (;;) {
        signal.throwIfAborted();
        const found = running.get(blob.digest);
        if (found !== undefined && !isJoinable(found, blob)) {
          await found.done.catch(() => undefined);
          continue;
        }
        const shared = found ?? begin(blob, start);
        shared.followers += 1;
        try {
          yield* watch(shared, signal);
          return;
        } catch (problem) {
          // The registry of whoever began it failed; ours may not.
          if (signal.aborted || found === undefined) throw problem;
        } finally {
          shared.followers -= 1;
          if (shared.followers === 0) shared.ending.abort();
        }
      }
    },
  };
}

/** One that is being ended, or that expects another size, is waited for and not joined. */
function isJoinable({ size, ending }: Shared, blob: BlobReference): boolean {
  return size === blob.size && !ending.signal.aborted;
}

async function* watch(shared: Shared, signal: AbortSignal): AsyncGenerator<number> {
  let told: number | undefined;
  const done = shared.done.then(() => true);
  for (;;) {
    const pause = wait(leastMillisecondsBetween, false, { signal });
    if (await Promise.race([done, pause])) return;
    const now = told === undefined ? shared.startBytes : shared.completedBytes;
    if (now !== undefined && told !== now) yield (told = now);
  }
}
