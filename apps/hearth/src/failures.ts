import { type Explanation, exitCodes } from "@hearth-and-keep/command-line";
import { FailureError } from "@hearth-and-keep/failures";
import { BodyProblem, NoSuchMethod, NoSuchRoute } from "@hearth-and-keep/http-service";
import type { SamplingFailure } from "./generation/sampling.ts";
import type { ModelFailure } from "./models/model-failure.ts";
import type { SchedulingFailure } from "./scheduling/failures.ts";

/** What keeps a command from doing its work. */
export type CommandFailure = { readonly kind: "insecure-bind"; readonly host: string };

/** What keeps a request from being answered. Each family says it in its own words, by one exhaustive switch. */
export type RequestFailure =
  | { readonly kind: "no-such-route" }
  | { readonly kind: "method-not-allowed"; readonly allowed: readonly string[] }
  | { readonly kind: "body-unreadable"; readonly reason: BodyProblem["reason"] | "missing" }
  /** `place` is a path into the body, as in `messages.0.role`; empty for the body as a whole. */
  | { readonly kind: "request-invalid"; readonly place: string; readonly reason: string }
  | { readonly kind: "key-missing" }
  | { readonly kind: "key-wrong" }
  /** Two credentials in one request that are not the same. */
  | { readonly kind: "keys-differ" }
  | { readonly kind: "site-forbidden"; readonly header: "host" | "origin" }
  | { readonly kind: "capability-lacking"; readonly model: string; readonly capability: string }
  | ModelFailure
  | SamplingFailure
  | SchedulingFailure
  /** A fault of ours; what it was is in the log alone. */
  | { readonly kind: "defect" };

export type Failure = CommandFailure | RequestFailure;

/** Names whatever was thrown while a request was being answered. */
export function asRequestFailure(problem: unknown): RequestFailure {
  if (problem instanceof NoSuchRoute) return { kind: "no-such-route" };
  if (problem instanceof NoSuchMethod) return { kind: "method-not-allowed", allowed: problem.allowed };
  if (problem instanceof BodyProblem) return { kind: "body-unreadable", reason: problem.reason };
  // Everything thrown inside a FailureError on a request's way is of this union.
  return problem instanceof FailureError ? (problem.failure as RequestFailure) : { kind: "defect" };
}

export function requestFailure(
  failure: RequestFailure,
  options?: ErrorOptions,
): FailureError<RequestFailure> {
  return new FailureError<RequestFailure>(failure, options);
}

/** What the person at the terminal reads. */
export function explainFailure(failure: CommandFailure): Explanation {
  switch (failure.kind) {
    case "insecure-bind":
      return {
        sentences: [
          `Cannot listen on ${failure.host}: other machines could use this server without a key; say --allow-insecure-bind if that is what you want`,
        ],
        exitCode: exitCodes.wrongSettings,
      };
  }
}
