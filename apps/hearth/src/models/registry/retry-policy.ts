import { setTimeout as sleep } from "node:timers/promises";
import { FailureError } from "@hearth-and-keep/failures";
import type { OutboundResponse } from "@hearth-and-keep/outbound-http";
import { modelFailure } from "../model-failure.ts";

/** Exponential backoff with full jitter. */
export type RetryPolicy = {
  readonly maxAttempts: number;
  readonly initialDelayMilliseconds: number;
  readonly maxDelayMilliseconds: number;
  /** Caps the wait that a registry requests with Retry-After, which is never more than a minute. */
  readonly maxRetryAfterMilliseconds?: number;
};

export type RetryOptions = { readonly retryPolicy: RetryPolicy; readonly signal: AbortSignal };

/** An error that a retry may resolve; its cause is reported when no attempts are left. */
export class TransientError extends Error {
  override readonly name = "TransientError";
  readonly retryAfterSeconds: number;

  constructor(cause: unknown, retryAfterSeconds = 0) {
    super("Cannot finish at this moment", { cause });
    this.retryAfterSeconds = retryAfterSeconds;
  }
}

const maxRetryAfterSeconds = 60;
const transientStatuses = new Set([408, 425, 429, 500, 502, 503, 504]);

export async function retry<Result>(
  work: () => Promise<Result>,
  { retryPolicy, signal }: RetryOptions,
): Promise<Result> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await work();
    } catch (error) {
      if (!isTransient(error) || attempt >= retryPolicy.maxAttempts) throw unwrapCause(error);
      await waitBeforeRetry(attempt, error, { retryPolicy, signal });
    }
  }
}

/** The jitter spreads clients that were disconnected at the same moment. It is added to a Retry-After, which is a minimum. */
export async function waitBeforeRetry(
  attempt: number,
  error: unknown,
  { retryPolicy, signal }: RetryOptions,
): Promise<void> {
  const {
    initialDelayMilliseconds,
    maxDelayMilliseconds,
    maxRetryAfterMilliseconds = Number.POSITIVE_INFINITY,
  } = retryPolicy;
  const backoff = Math.min(maxDelayMilliseconds, initialDelayMilliseconds * 2 ** (attempt - 1));
  const retryAfter = error instanceof TransientError ? error.retryAfterSeconds * 1000 : 0;
  const delay = Math.min(retryAfter, maxRetryAfterMilliseconds) + Math.random() * backoff;
  await sleep(delay, undefined, { signal });
}

export function isTransient(error: unknown): boolean {
  if (error instanceof TransientError) return true;
  if (!(error instanceof FailureError)) return false;
  // Every failure has a kind, and this kind has a reason.
  const { kind, reason } = error.failure as { kind: string; reason?: string };
  return kind === "registry-unreachable" && reason !== "untrusted-certificate";
}

/** The error to report when there are no more retries. */
export function unwrapCause(error: unknown): unknown {
  return error instanceof TransientError ? error.cause : error;
}

/** Disposes a response with an unexpected status and returns the error to throw. */
export async function unexpectedStatus(response: OutboundResponse, isRetryable = false): Promise<Error> {
  const { status, url, headers } = response;
  await response[Symbol.asyncDispose]();
  const failure = modelFailure({ kind: "registry-refused", host: url.host, status });
  if (!isRetryable && !transientStatuses.has(status)) return failure;
  return new TransientError(failure, parseRetryAfter(headers["retry-after"]));
}

/** Seconds or a date (RFC 9110, 10.2.3), capped at the longest time we are willing to wait. */
export function parseRetryAfter(header: string | readonly string[] | undefined): number {
  const text = String(header ?? "").trim();
  const seconds = /^\d{1,9}$/u.test(text) ? Number(text) : (Date.parse(text) - Date.now()) / 1000;
  return Number.isNaN(seconds) ? 0 : Math.min(maxRetryAfterSeconds, Math.max(0, seconds));
}
