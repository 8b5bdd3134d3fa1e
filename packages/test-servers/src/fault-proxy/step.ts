import type { Ending } from "./fault.ts";

/** Bytes on their way, with what they are to the protocol. */
export type ForwardedChunk = {
  readonly type: "forward";
  readonly bytes: Buffer;
  readonly part: "head" | "body";
  readonly startsTurn: boolean;
};

/** What a connection does next; deciding is apart from doing, so faults stay pure. */
export type Step =
  | ForwardedChunk
  | { readonly type: "wait"; readonly milliseconds: number }
  /** Nothing more until the faults change. */
  | { readonly type: "hold" }
  | { readonly type: "end"; readonly how: Ending };
