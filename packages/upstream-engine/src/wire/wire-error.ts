/** Why a request to an engine failed. The error message contains no text from the system or the engine. */
export type WireErrorDetail =
  /** The connection failed, or closed before a response started. */
  | { readonly kind: "unreachable" }
  /** The engine closed a keep-alive connection before it read the request. */
  | { readonly kind: "stale-connection" }
  /** The response ended prematurely. */
  | { readonly kind: "interrupted" }
  | { readonly kind: "too-large" }
  | { readonly kind: "invalid-response" }
  /** An error response; `value` is the parsed body, if it is JSON. */
  | {
      readonly kind: "error-response";
      readonly status: number;
      readonly value: unknown;
      /** From the Retry-After header. */
      readonly retryAfterSeconds?: number;
      /** Whether part of the output had already been sent. */
      readonly isMidStream?: boolean;
    };

export class WireError extends Error {
  readonly detail: WireErrorDetail;

  constructor(detail: WireErrorDetail, cause?: unknown) {
    super(`Request to the engine failed: ${detail.kind}`, cause === undefined ? {} : { cause });
    this.name = "WireError";
    this.detail = detail;
  }
}
