import { searchHead } from "./http-head.ts";
import type { ForwardedChunk } from "./step.ts";

type TurnSplitter = {
  split(bytes: Buffer, startsTurn: boolean): ForwardedChunk[];
  /** Gives up the bytes of a head that never became complete. */
  release(): Buffer;
};

/** Cuts a stream into heads and bodies. An incomplete head is held back until its end arrives. */
export function splitTurns(): TurnSplitter {
  let held = Buffer.alloc(0);
  let awaitsHead = false;
  let startsNext = false;

  const take = (pieces: ForwardedChunk[]): ForwardedChunk[] => {
    const search = searchHead(held);
    if (search.found === "unfinished") return pieces;
    const length = search.found === "head" ? search.length : held.length;
    const part = search.found === "head" ? "head" : "body";
    pieces.push({ type: "forward", bytes: held.subarray(0, length), part, startsTurn: startsNext });
    held = held.subarray(length);
    startsNext = false;
    awaitsHead = search.found === "head" && search.isInterim;
    if (held.length === 0) return pieces;
    if (awaitsHead) return take(pieces);
    pieces.push({ type: "forward", bytes: held, part: "body", startsTurn: false });
    held = Buffer.alloc(0);
    return pieces;
  };

  return {
    split(bytes, startsTurn) {
      if (startsTurn) {
        awaitsHead = true;
        startsNext = true;
      }
      if (!awaitsHead) return [{ type: "forward", bytes, part: "body", startsTurn }];
      held = Buffer.concat([held, bytes]);
      return held.length === 0 ? [] : take([]);
    },
    release() {
      const bytes = held;
      held = Buffer.alloc(0);
      return bytes;
    },
  };
}
