/** What can go wrong between us and an engine; no text of the machine or of the engine is in its message. */
export type WireDetail =
  /** No connection, or none that lasted until an answer began. */
  | { readonly kind: "unreachable" }
  /** A kept connection that the engine closed before it read the question. */
  | { readonly kind: "closed-before" }
  /** The answer stopped in its middle. */
  | { readonly kind: "cut-off" }
  | { readonly kind: "too-large" }
  | { readonly kind: "not-understood" }
  /** Answered, but not with what was asked for; `value` is its JSON, if it is any. */
  | {
      readonly kind: "refused";
      readonly status: number;
      readonly value: unknown;
      /** How long it wants to be left alone. */
      readonly retryAfterSeconds?: number;
      /** Said behind a part of the answer. */
      readonly isMidway?: boolean;
    };

export class WireError extends Error {
  readonly detail: WireDetail;

  constructor(detail: WireDetail, cause?: unknown) {
    super(`Cannot speak with the engine: ${detail.kind}`, cause === undefined ? {} : { cause });
    this.name = "WireProblem";
    this.detail = detail;
  }
}
