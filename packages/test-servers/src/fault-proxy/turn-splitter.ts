import { searchHead } from "./http-head.ts";
import type { ForwardedChunk } from "./step.ts";

type TurnSplitter = {
  split(bytes: Buffer, startsTurn: boolean): ForwardedChunk[];
  /** Returns the bytes of a head that is still incomplete. */
  release(): Buffer;
};

/** Splits a stream into heads and bodies. An incomplete head is held back until its end arrives. */
export function splitTurns(): TurnSplitter {
  let held = Buffer.alloc(0);
  let awaitsHead = false;
  let startsNext = false;

  const extract = (chunks: ForwardedChunk[]): ForwardedChunk[] => {
    const search = searchHead(held);
    if (search.found === "unfinished") return chunks;
    const length = search.found === "head" ? search.length : held.length;
    const part = search.found === "head" ? "head" : "body";
    chunks.push({ type: "forward", bytes: held.subarray(0, length), part, startsTurn: startsNext });
    held = held.subarray(length);
    startsNext = false;
    awaitsHead = search.found === "head" && search.isInterim;
    if (held.length === 0) return chunks;
    if (awaitsHead) return extract(chunks);
    chunks.push({ type: "forward", bytes: held, part: "body", startsTurn: false });
    held = Buffer.alloc(0);
    return chunks;
  };

  return {
    split(bytes, startsTurn) {
      if (startsTurn) {
        awaitsHead = true;
        startsNext = true;
      }
      if (!awaitsHead) return [{ type: "forward", bytes, part: "body", startsTurn }];
      held = Buffer.concat([held, bytes]);
      return held.length === 0 ? [] : extract([]);
    },
    release() {
      const bytes = held;
      held = Buffer.alloc(0);
      return bytes;
    },
  };
}
