import { modelFailure } from "../model-failure.ts";
import type { BlobSource, ByteRange, OpenRange } from "../registry/blob-source.ts";
import { PassingProblem } from "../registry/retry-policy.ts";
import type { Lanes } from "./connection-limiter.ts";
import { type PartialFile, pieceBytes } from "./partial-file.ts";
import type { RateLimit } from "./rate-limit.ts";

export type FetchParts = {
  readonly lanes: Lanes;
  readonly rate: RateLimit;
  /** A connection that brings nothing for so long is given up, and so is one that brings less than the least. */
  readonly idleSeconds: number;
  readonly leastBytesPerSecond: number;
};

export type RangeWork = {
  readonly range: ByteRange;
  readonly source: BlobSource;
  readonly file: PartialFile;
  readonly signal: AbortSignal;
  readonly onHead: (opened: OpenRange) => void;
  readonly onPiece: () => void;
};

/** Brings the missing pieces of one range into the file; a piece that does not come whole is not taken. */
export async function fetchRange(work: RangeWork, parts: FetchParts): Promise<void> {
  const { range, source, file, signal } = work;
  using stack = new DisposableStack();
  stack.use(await parts.lanes.enter(source.host, signal));
  await using opened = await source.open(range, { signal, idleSeconds: parts.idleSeconds });
  work.onHead(opened);
  const watch = createSpeedWatch(source.host, parts);
  let position = opened.range.first;
  let gathered: Uint8Array[] = [];
  let pieces = 0;
  for await (const chunk of opened.body) {
    const waitedMilliseconds = await payFor(chunk, { work, parts });
    watch(chunk.length, waitedMilliseconds);
    for (let rest = chunk; rest.length > 0 && position <= opened.range.last; ) {
      const piece = Math.floor(position / pieceBytes);
      const end = piece * pieceBytes + file.lengthOf(piece);
      const part = rest.subarray(0, end - position);
      gathered.push(part);
      position += part.length;
      rest = rest.subarray(part.length);
      if (position < end) continue;
      if (!file.has(piece)) {
        await file.write(piece, gathered);
        work.onPiece();
      }
      gathered = [];
      pieces += 1;
    }
    if (position > opened.range.last) break;
  }
  // A shorter range than was asked for is in order when it brings at least a piece.
  const isBroken = position <= opened.range.last || (gathered.length > 0 && pieces === 0);
  if (!isBroken) return;
  throw new PassingProblem(
    modelFailure({ kind: "registry-unreachable", host: source.host, reason: "broken" }),
  );
}

async function payFor(
  chunk: Uint8Array,
  { work, parts }: { readonly work: RangeWork; readonly parts: FetchParts },
): Promise<number> {
  const waiting = parts.rate.take(chunk.length, work.signal);
  if (waiting === undefined) return 0;
  const startedAt = performance.now();
  await waiting;
  return performance.now() - startedAt;
}

/** Throws when too little came in a stretch of time; what we ourselves waited does not count. */
function createSpeedWatch(
  host: string,
  { idleSeconds, leastBytesPerSecond }: FetchParts,
): (bytes: number, waitedMilliseconds: number) => void {
  const stretchMilliseconds = idleSeconds * 1000;
  let startedAt = performance.now();
  let bytesHere = 0;
  return (bytes, waitedMilliseconds) => {
    bytesHere += bytes;
    startedAt += waitedMilliseconds;
    if (performance.now() - startedAt < stretchMilliseconds) return;
    if (bytesHere < leastBytesPerSecond * idleSeconds) {
      throw new PassingProblem(modelFailure({ kind: "registry-unreachable", host, reason: "timed-out" }));
    }
    startedAt = performance.now();
    bytesHere = 0;
  };
}
