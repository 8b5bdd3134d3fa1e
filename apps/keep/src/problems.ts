import { FailureError } from "@hearth-and-keep/failures";
import { BodyProblem, NoSuchMethod, NoSuchRoute, type WholeAnswer } from "@hearth-and-keep/http-service";
import type { Problem, ProblemCode } from "@hearth-and-keep/vault-contract";
import type { Failure, RequestFailure } from "./failures.ts";

type Words = {
  readonly status: number;
  readonly code: ProblemCode;
  readonly title: string;
  readonly detail?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly errors?: Problem["errors"];
};

/** RFC 9457. No value, path of this machine, SQL or cause is ever in one: the cause stays in our log. */
export function answerProblem(problem: unknown, requestId: string): WholeAnswer {
  const { status, code, title, detail, headers, errors } = wordsFor(asRequestFailure(problem));
  const body: Problem = {
    type: `urn:keep:problem:${code}`,
    title,
    status,
    code,
    ...(detail === undefined ? {} : { detail: detail.slice(0, mostDetailCharacters) }),
    ...(errors === undefined ? {} : { errors }),
    request_id: requestId,
  };
  return {
    status,
    headers: {
      "content-type": "application/problem+json; charset=utf-8",
      "cache-control": "no-store",
      ...headers,
    },
    body: JSON.stringify(body),
  };
}

/** What of all that can be thrown a caller is told; whatever nobody expected is a defect. */
export function asRequestFailure(problem: unknown): RequestFailure {
  if (problem instanceof NoSuchRoute) return { kind: "not-found" };
  if (problem instanceof NoSuchMethod) return { kind: "no-such-method", allowed: problem.allowed };
  if (problem instanceof BodyProblem) {
    return problem.reason === "too-large"
      ? { kind: "body-too-large" }
      : { kind: "body-unreadable", reason: problem.reason === "missing-length" ? "missing" : "malformed" };
  }
  // Only failures of ours are thrown as one.
  if (problem instanceof FailureError) return requestFailureOf(problem.failure as Failure);
  return { kind: "defect" };
}

/** A failure to start never reaches a request. */
function requestFailureOf(failure: Failure): RequestFailure {
  switch (failure.kind) {
    case "database-not-set":
    case "database-unreachable":
    case "database-refuses-user":
    case "database-forbids":
    case "database-missing":
    case "database-newer":
    case "migration-changed":
    case "key-not-set":
    case "key-malformed":
    case "key-mismatch":
    case "public-url-not-set":
    case "public-url-invalid":
    case "public-url-insecure":
    case "provider-address-unusable":
      return { kind: "defect" };
    default:
      return failure;
  }
}

/** As many as the contract says; the first tell a person enough. */
const mostErrors = 64;
const mostDetailCharacters = 8192;

const challenge = { "www-authenticate": 'Bearer error="invalid_token"' };

function wordsFor(failure: RequestFailure): Words {
  switch (failure.kind) {
    case "body-unreadable":
      return failure.reason === "missing"
        ? { status: 400, code: "invalid_request", title: "The request has no body" }
        : { status: 400, code: "invalid_request", title: "The body is not JSON" };
    case "body-too-large":
      return { status: 413, code: "payload_too_large", title: "The body is too large" };
    case "request-invalid":
      return {
        status: 422,
        code: "validation_failed",
        title: "The request is not valid",
        errors: failure.mistakes
          .slice(0, mostErrors)
          .map(({ place, reason }) => ({ place: place.slice(0, 1024), reason: reason.slice(0, 1024) })),
      };
    case "unauthenticated":
      return { status: 401, code: "unauthenticated", title: "No valid credentials", headers: challenge };
    case "credentials-ambiguous":
      return {
        status: 400,
        code: "invalid_request",
        title: "The request carries two credentials",
        detail: "Send a token or a session, and one of it",
      };
    case "cross-site":
      return { status: 403, code: "cross_site", title: "The request comes from another site" };
    case "insufficient-scope":
      return {
        status: 403,
        code: "insufficient_scope",
        title: "The token lacks a scope",
        detail: `This needs ${failure.scope}`,
        headers: {
          "www-authenticate": `Bearer error="insufficient_scope", scope="${failure.scope}"`,
        },
      };
    case "out-of-reach":
      return {
        status: 403,
        code: "out_of_reach",
        title: "The token does not reach this path",
        detail: `None of its patterns stands for "${failure.path}"`,
      };
    default:
      return wordsForState(failure);
  }
}

type Described =
  | "body-unreadable"
  | "body-too-large"
  | "request-invalid"
  | "unauthenticated"
  | "credentials-ambiguous"
  | "cross-site"
  | "insufficient-scope"
  | "out-of-reach";

/** What is the matter not with the request, but with what it meets. */
function wordsForState(failure: Exclude<RequestFailure, { readonly kind: Described }>): Words {
  switch (failure.kind) {
    case "grant-exceeded":
      return {
        status: 403,
        code: "out_of_reach",
        title: "A token gives away no more than it may do itself",
        detail:
          "Scopes, vaults, paths, addresses and expiry must lie within its own, and it renews only itself and tokens it made",
      };
    case "session-required":
      return { status: 403, code: "session_required", title: "Only a person who signed in can do this" };
    case "sign-in-too-old":
      return { status: 403, code: "fresh_sign_in_required", title: "Sign in again to do this" };
    case "not-found":
      return { status: 404, code: "not_found", title: "No such resource" };
    case "no-such-method":
      return {
        status: 405,
        code: "method_not_allowed",
        title: "No such method here",
        headers: { allow: failure.allowed.join(", ") },
      };
    case "conflict":
      return {
        status: 409,
        code: "conflict",
        title: "This cannot be done as things are",
        detail: failure.reason,
      };
    case "token-already-issued":
      return {
        status: 409,
        code: "token_already_issued",
        title: "This token was made before, and its value is shown once",
        detail: `Its id is ${failure.id}; rotate it to get a new value`,
      };
    default:
      return wordsForContents(failure);
  }
}

type Stated =
  | "grant-exceeded"
  | "session-required"
  | "sign-in-too-old"
  | "not-found"
  | "no-such-method"
  | "conflict"
  | "token-already-issued";

/** What a vault and the secrets in it do not allow. */
function wordsForContents(failure: Exclude<RequestFailure, { readonly kind: Described | Stated }>): Words {
  switch (failure.kind) {
    case "precondition-failed":
      return { status: 412, code: "precondition_failed", title: "It has changed in the meantime" };
    case "precondition-required":
      return {
        status: 428,
        code: "precondition_required",
        title: "This vault demands a precondition",
        detail:
          "Send If-Match with the ETag you read, If-None-Match: * to create, or If-Match: * to write anyway",
      };
    case "idempotency-mismatch":
      return {
        status: 422,
        code: "idempotency_mismatch",
        title: "This Idempotency-Key came with another request",
      };
    case "versions-full":
      return {
        status: 409,
        code: "versions_full",
        title: `The secret has ${failure.most} versions, as many as its vault keeps`,
        detail:
          "Destroy old ones (DELETE …/versions/{n}) or raise most_versions of the vault; nothing is destroyed unasked",
      };
    case "quota-exceeded":
      return {
        status: 409,
        code: "quota_exceeded",
        title: `There may be at most ${failure.most} ${failure.what}`,
      };
    case "reference-missing":
      return {
        status: 422,
        code: "reference_missing",
        title: "A reference names nothing that can be read",
        detail: `"${failure.reference}"`,
      };
    case "reference-cycle":
      return {
        status: 422,
        code: "reference_cycle",
        title: "References lead back to where they began",
        detail: failure.references.join(" → "),
      };
    default:
      return wordsForOutage(failure);
  }
}

type Outage = Extract<
  RequestFailure,
  {
    readonly kind:
      | "rate-limited"
      | "provider-unavailable"
      | "sign-in-refused"
      | "integrity-broken"
      | "database-away"
      | "nodes-behind"
      | "outcome-unknown"
      | "defect";
  }
>;

function wordsForOutage(failure: Outage): Words {
  switch (failure.kind) {
    case "rate-limited":
      return {
        status: 429,
        code: "rate_limited",
        title: "Too many requests",
        headers: { "retry-after": String(failure.retryAfterSeconds) },
      };
    case "provider-unavailable":
      return {
        status: 503,
        code: "unavailable",
        title: "The identity provider does not answer",
        detail: failure.provider,
        headers: { "retry-after": "10" },
      };
    case "sign-in-refused":
      return {
        status: 403,
        code: "sign_in_refused",
        title: "The sign-in was refused",
        detail: failure.reason,
      };
    case "integrity-broken":
      return {
        status: 500,
        code: "integrity_error",
        title: "What is stored is not what was stored here",
        detail: "The value was not given out; the operator finds this request in the log",
      };
    case "database-away":
      return {
        status: 503,
        code: "unavailable",
        title: "The database does not answer",
        headers: { "retry-after": "1" },
      };
    case "nodes-behind":
      return {
        status: 503,
        code: "unavailable",
        title: "The token is revoked, but not every node has confirmed it yet",
        detail: "Repeat the request to wait again",
        headers: { "retry-after": "1" },
      };
    case "outcome-unknown":
      return {
        status: 503,
        code: "unavailable",
        title: "The connection broke before the outcome was known",
        detail: "Repeat the request with the same Idempotency-Key to learn it",
        headers: { "retry-after": "1" },
      };
    case "defect":
      return { status: 500, code: "internal", title: "Internal error" };
  }
}
