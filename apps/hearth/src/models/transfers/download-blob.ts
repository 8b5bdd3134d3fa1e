import { modelFailure } from "../model-failure.ts";
import type { BlobSource, ByteRange } from "../registry/blob-source.ts";
import { explainOutbound } from "../registry/map-outbound-error.ts";
import { isPassing, meaningOf, type Patience, waitBefore } from "../registry/retry-policy.ts";
import { type BlobReference, keepBlob } from "../store/blob-store.ts";
import type { ModelStore } from "../store/model-store.ts";
import { type FetchParts, fetchRange } from "./fetch-range.ts";
import { openPartialFile, type PartialFile, pieceBytes } from "./partial-file.ts";

export type DownloadParts = FetchParts & {
  readonly store: ModelStore;
  readonly patience: Patience;
  /** Ranges of one blob that are fetched at once. */
  readonly rangesAtOnce: number;
};

export type Download = {
  readonly blob: BlobReference;
  readonly source: BlobSource;
  readonly signal: AbortSignal;
  readonly onProgress: (completedBytes: number) => void;
};

const piecesInRange = 16;
/** How often damage on our own disk is repaired before we stop trusting it. */
const mostRounds = 5;

/**
 * Brings a blob into the store: what earlier attempts got is kept, ranges are fetched side by side, and the blob
 * gets its name only when the hash of what is on the disk is its digest. What is whole and wrong is fetched once more.
 */
export async function downloadBlob(download: Download, parts: DownloadParts): Promise<void> {
  const { blob } = download;
  await using file = await openPartialFile(parts.store, blob);
  let wasWrong = false;
  for (let round = 0; round < mostRounds; round += 1) {
    download.onProgress(file.completedBytes);
    await fetchMissing(file, download, parts);
    const digest = await file.finish();
    if (digest === undefined) continue;
    if (digest === blob.digest) {
      const staged = { path: file.path, ...blob, [Symbol.asyncDispose]: () => Promise.resolve() };
      await parts.store.inTurn(() => keepBlob(parts.store, staged));
      await file.remove();
      return;
    }
    await file.clear();
    if (wasWrong) break;
    wasWrong = true;
  }
  await file.remove();
  throw modelFailure({ kind: "transfer-damaged", digest: blob.digest });
}

/** The first worker shows whether there are ranges at all; then the others join it. The first failure ends all. */
async function fetchMissing(file: PartialFile, download: Download, parts: DownloadParts): Promise<void> {
  const ending = new AbortController();
  const signal = AbortSignal.any([download.signal, ending.signal]);
  const { promise: headSeen, resolve: seeHead } = Promise.withResolvers<void>();
  const claims = createClaims(file);
  const work: Work = { claims, seeHead, file, download: { ...download, signal } };
  const workers = Array.from({ length: parts.rangesAtOnce }, async (_none, index) => {
    try {
      if (index > 0) await headSeen;
      await fetchRanges(work, parts);
    } catch (problem) {
      ending.abort(problem);
      throw problem;
    } finally {
      seeHead();
    }
  });
  const results = await Promise.allSettled(workers);
  download.signal.throwIfAborted();
  // The first that failed is the reason why the others were ended.
  if (ending.signal.aborted) throw ending.signal.reason;
  for (const result of results) if (result.status === "rejected") throw result.reason;
}

type Work = {
  readonly claims: Claims;
  readonly seeHead: () => void;
  readonly file: PartialFile;
  readonly download: Download;
};

async function fetchRanges({ claims, seeHead, file, download }: Work, parts: DownloadParts): Promise<void> {
  const { source, signal, onProgress } = download;
  let failures = 0;
  for (let range = claims.take(); range !== undefined; range = claims.take()) {
    try {
      await fetchRange(
        {
          range,
          source,
          file,
          signal,
          onHead: ({ isWhole }) => (claims.noteWhole(isWhole), seeHead()),
          onPiece: () => ((failures = 0), onProgress(file.completedBytes)),
        },
        parts,
      );
    } catch (caught) {
      signal.throwIfAborted();
      const problem = explainOutbound(caught);
      failures += 1;
      if (!isPassing(problem) || failures >= parts.patience.tries) throw meaningOf(problem);
      await waitBefore(failures, problem, { patience: parts.patience, signal });
    } finally {
      claims.giveBack(range);
    }
  }
}

type Claims = {
  /** The next missing pieces that nobody is fetching; undefined when there are none. */
  take(): ByteRange | undefined;
  giveBack(range: ByteRange): void;
  /** A server that gives no ranges is asked for everything by one worker alone. */
  noteWhole(isWhole: boolean): void;
};

function createClaims(file: PartialFile): Claims {
  const taken = new Set<number>();
  let lowest = 0;
  let isWhole = false;
  const isFree = (piece: number): boolean => piece < file.pieceCount && !file.has(piece) && !taken.has(piece);
  return {
    take() {
      while (lowest < file.pieceCount && file.has(lowest)) lowest += 1;
      let first = lowest;
      while (first < file.pieceCount && !isFree(first)) first += 1;
      if (first === file.pieceCount || (isWhole && taken.size > 0)) return undefined;
      let last = first;
      while (last - first + 1 < piecesInRange && isFree(last + 1)) last += 1;
      for (let piece = first; piece <= last; piece += 1) taken.add(piece);
      return { first: first * pieceBytes, last: last * pieceBytes + file.lengthOf(last) - 1 };
    },
    giveBack({ first, last }) {
      for (let piece = first / pieceBytes; piece * pieceBytes <= last; piece += 1) taken.delete(piece);
    },
    noteWhole: (whole) => (isWhole ||= whole),
  };
}
