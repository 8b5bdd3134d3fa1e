import type { Ending } from "./fault.ts";

/** Bytes to forward, with their role in the protocol. */
export type ForwardedChunk = {
  readonly type: "forward";
  readonly bytes: Buffer;
  readonly part: "head" | "body";
  readonly startsTurn: boolean;
};

/** The next action of a connection; planning is separate from execution, so that faults are pure functions. */
export type Step =
  | ForwardedChunk
  | { readonly type: "wait"; readonly milliseconds: number }
  /** Forwards nothing until the faults change. */
  | { readonly type: "hold" }
  | { readonly type: "end"; readonly how: Ending };
