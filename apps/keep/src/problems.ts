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
  const { status, code, title, detail, headers, errors } = explain(asRequestFailure(problem));
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
  if (!(problem instanceof FailureError)) return { kind: "defect" };
  // Only failures of ours are thrown as one.
  const failure = problem.failure as Failure;
  return isOfRequest(failure) ? failure : { kind: "defect" };
}

/** A failure to start never reaches a request. */
function isOfRequest(failure: Failure): failure is RequestFailure {
  return Object.hasOwn(words, failure.kind);
}

function explain(failure: RequestFailure): Words {
  // Each kind's entry takes that kind.
  return (words[failure.kind] as (failure: RequestFailure) => Words)(failure);
}

/** As many as the contract says; the first tell a person enough. */
const mostErrors = 64;
const mostDetailCharacters = 8192;

type Kind = RequestFailure["kind"];

/** Every failure in words; one without words does not compile. */
const words: {
  readonly [Each in Kind]: (failure: Extract<RequestFailure, { readonly kind: Each }>) => Words;
} = {
  "body-unreadable": ({ reason }) => ({
    status: 400,
    code: "invalid_request",
    title: reason === "missing" ? "The request has no body" : "The body is not JSON",
  }),
  "body-too-large": () => ({ status: 413, code: "payload_too_large", title: "The body is too large" }),
  "request-invalid": ({ mistakes }) => ({
    status: 422,
    code: "validation_failed",
    title: "The request is not valid",
    errors: mistakes
      .slice(0, mostErrors)
      .map(({ place, reason }) => ({ place: place.slice(0, 1024), reason: reason.slice(0, 1024) })),
  }),
  unauthenticated: () => ({
    status: 401,
    code: "unauthenticated",
    title: "No valid credentials",
    headers: { "www-authenticate": 'Bearer error="invalid_token"' },
  }),
  "credentials-ambiguous": () => ({
    status: 400,
    code: "invalid_request",
    title: "The request carries two credentials",
    detail: "Send a token or a session, and one of it",
  }),
  "cross-site": () => ({ status: 403, code: "cross_site", title: "The request comes from another site" }),
  "insufficient-scope": ({ scope }) => ({
    status: 403,
    code: "insufficient_scope",
    title: "The token lacks a scope",
    detail: `This needs ${scope}`,
    headers: { "www-authenticate": `Bearer error="insufficient_scope", scope="${scope}"` },
  }),
  "out-of-reach": ({ path }) => ({
    status: 403,
    code: "out_of_reach",
    title: "The token does not reach this path",
    detail: `None of its patterns stands for "${path}"`,
  }),
  "grant-exceeded": () => ({
    status: 403,
    code: "out_of_reach",
    title: "A token gives away no more than it may do itself",
    detail:
      "Scopes, vaults, paths, addresses and expiry must lie within its own, and it renews only itself and tokens it made",
  }),
  "session-required": () => ({
    status: 403,
    code: "session_required",
    title: "Only a person who signed in can do this",
  }),
  "sign-in-too-old": () => ({
    status: 403,
    code: "fresh_sign_in_required",
    title: "Sign in again to do this",
  }),
  "sign-in-refused": ({ reason }) => ({
    status: 403,
    code: "sign_in_refused",
    title: "The sign-in was refused",
    detail: reason,
  }),
  "not-found": () => ({ status: 404, code: "not_found", title: "No such resource" }),
  "no-such-method": ({ allowed }) => ({
    status: 405,
    code: "method_not_allowed",
    title: "No such method here",
    headers: { allow: allowed.join(", ") },
  }),
  conflict: ({ reason }) => ({
    status: 409,
    code: "conflict",
    title: "This cannot be done as things are",
    detail: reason,
  }),
  "token-already-issued": ({ id }) => ({
    status: 409,
    code: "token_already_issued",
    title: "This token was made before, and its value is shown once",
    detail: `Its id is ${id}; rotate it to get a new value`,
  }),
  "versions-full": ({ most }) => ({
    status: 409,
    code: "versions_full",
    title: `The secret has ${most} versions, as many as its vault keeps`,
    detail:
      "Destroy old ones (DELETE …/versions/{n}) or raise most_versions of the vault; nothing is destroyed unasked",
  }),
  "quota-exceeded": ({ most, what }) => ({
    status: 409,
    code: "quota_exceeded",
    title: `There may be at most ${most} ${what}`,
  }),
  "precondition-failed": () => ({
    status: 412,
    code: "precondition_failed",
    title: "It has changed in the meantime",
  }),
  "precondition-required": () => ({
    status: 428,
    code: "precondition_required",
    title: "This vault demands a precondition",
    detail:
      "Send If-Match with the ETag you read, If-None-Match: * to create, or If-Match: * to write anyway",
  }),
  "idempotency-mismatch": () => ({
    status: 422,
    code: "idempotency_mismatch",
    title: "This Idempotency-Key came with another request",
  }),
  "reference-missing": ({ reference }) => ({
    status: 422,
    code: "reference_missing",
    title: "A reference names nothing that can be read",
    detail: `"${reference}"`,
  }),
  "reference-cycle": ({ references }) => ({
    status: 422,
    code: "reference_cycle",
    title: "References lead back to where they began",
    detail: references.join(" → "),
  }),
  "rate-limited": ({ retryAfterSeconds }) => ({
    status: 429,
    code: "rate_limited",
    title: "Too many requests",
    headers: { "retry-after": String(retryAfterSeconds) },
  }),
  "provider-unavailable": ({ provider }) => ({
    status: 503,
    code: "unavailable",
    title: "The identity provider does not answer",
    detail: provider,
    headers: { "retry-after": "10" },
  }),
  "database-away": () => ({
    status: 503,
    code: "unavailable",
    title: "The database does not answer",
    headers: { "retry-after": "1" },
  }),
  "nodes-behind": () => ({
    status: 503,
    code: "unavailable",
    title: "The token is revoked, but not every node has confirmed it yet",
    detail: "Repeat the request to wait again",
    headers: { "retry-after": "1" },
  }),
  "outcome-unknown": () => ({
    status: 503,
    code: "unavailable",
    title: "The connection broke before the outcome was known",
    detail: "Repeat the request with the same Idempotency-Key to learn it",
    headers: { "retry-after": "1" },
  }),
  "integrity-broken": () => ({
    status: 500,
    code: "integrity_error",
    title: "What is stored is not what was stored here",
    detail: "The value was not given out; the operator finds this request in the log",
  }),
  defect: () => ({ status: 500, code: "internal", title: "Internal error" }),
};
