import { setTimeout as wait } from "node:timers/promises";
import { FailureError } from "@hearth-and-keep/failures";
import type { OutboundAnswer } from "@hearth-and-keep/outbound-http";
import { modelFailure } from "../model-failure.ts";

/** How often something is tried, and how long is waited in between. */
export type Patience = {
  readonly tries: number;
  readonly firstWaitMilliseconds: number;
  readonly longestWaitMilliseconds: number;
  /** Where a registry asks for more than this, it gets this; never more than a minute. */
  readonly longestAskedMilliseconds?: number;
};

export type FetchPlan = { readonly patience: Patience; readonly signal: AbortSignal };

/** Something that may well be over in a moment; the cause is what is told when it is not. */
export class PassingProblem extends Error {
  override readonly name = "PassingProblem";
  readonly retryAfterSeconds: number;

  constructor(cause: unknown, retryAfterSeconds = 0) {
    super("Cannot finish at this moment", { cause });
    this.retryAfterSeconds = retryAfterSeconds;
  }
}

const mostRetryAfterSeconds = 60;
const passingStatuses = new Set([408, 425, 429, 500, 502, 503, 504]);

export async function tryAgain<Result>(
  work: () => Promise<Result>,
  { patience, signal }: FetchPlan,
): Promise<Result> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await work();
    } catch (problem) {
      if (!isPassing(problem) || attempt >= patience.tries) throw meaningOf(problem);
      await waitBefore(attempt, problem, { patience, signal });
    }
  }
}

/** Full jitter: all who were cut off at once do not come back at once. What a registry asks for is the least. */
export async function waitBefore(
  attempt: number,
  problem: unknown,
  { patience, signal }: FetchPlan,
): Promise<void> {
  const most = Math.min(
    patience.longestWaitMilliseconds,
    patience.firstWaitMilliseconds * 2 ** (attempt - 1),
  );
  const { longestAskedMilliseconds = Number.POSITIVE_INFINITY } = patience;
  const asked = problem instanceof PassingProblem ? problem.retryAfterSeconds * 1000 : 0;
  await wait(Math.min(asked, longestAskedMilliseconds) + Math.random() * most, undefined, { signal });
}

export function isPassing(problem: unknown): boolean {
  if (problem instanceof PassingProblem) return true;
  if (!(problem instanceof FailureError)) return false;
  // Only its kind and reason are looked at, and both are compared with texts.
  const { kind, reason } = problem.failure as { kind: string; reason?: string };
  return kind === "registry-unreachable" && reason !== "untrusted-certificate";
}

/** What is told when there is no more patience. */
export function meaningOf(problem: unknown): unknown {
  return problem instanceof PassingProblem ? problem.cause : problem;
}

/** A status that is none of those the caller knows, as a problem to throw; the answer is done with. */
export async function refusalOf(answer: OutboundAnswer, isSurelyPassing = false): Promise<Error> {
  const { status, url, headers } = answer;
  await answer[Symbol.asyncDispose]();
  const failure = modelFailure({ kind: "registry-refused", host: url.host, status });
  const passes = isSurelyPassing || passingStatuses.has(status);
  return passes ? new PassingProblem(failure, readRetryAfter(headers["retry-after"])) : failure;
}

/** Seconds, or a date (RFC 9110, 10.2.3); never longer than we are willing to wait. */
export function readRetryAfter(header: string | readonly string[] | undefined): number {
  const text = String(header ?? "").trim();
  const seconds = /^\d{1,9}$/u.test(text) ? Number(text) : (Date.parse(text) - Date.now()) / 1000;
  return Number.isNaN(seconds) ? 0 : Math.min(mostRetryAfterSeconds, Math.max(0, seconds));
}
