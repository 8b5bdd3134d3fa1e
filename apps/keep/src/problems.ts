import { FailureError } from "@hearth-and-keep/failures";
import {
  BodyError,
  type BufferedResponse,
  InvalidRequestError,
  MethodNotAllowedError,
  RouteNotFoundError,
} from "@hearth-and-keep/http-service";
import type { Problem, ProblemCode } from "@hearth-and-keep/vault-contract";
import type { Failure, RequestFailure } from "./failures.ts";

type ProblemText = {
  readonly status: number;
  readonly code: ProblemCode;
  readonly title: string;
  readonly detail?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly errors?: Problem["errors"];
};

/**
 * An RFC 9457 problem document. It never contains a secret value, a server path, SQL or the cause; those are logged.
 */
export function problemResponse(error: unknown, requestId: string): BufferedResponse {
  const { status, code, title, detail, headers, errors } = describeFailure(asRequestFailure(error));
  const body: Problem = {
    type: `urn:keep:problem:${code}`,
    title,
    status,
    code,
    ...(detail === undefined ? {} : { detail: detail.slice(0, maxDetailCharacters) }),
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

/** Maps anything thrown to the failure the client sees; an unexpected error is a defect. */
export function asRequestFailure(error: unknown): RequestFailure {
  if (error instanceof RouteNotFoundError) return { kind: "not-found" };
  if (error instanceof MethodNotAllowedError) return { kind: "no-such-method", allowed: error.allowed };
  if (error instanceof BodyError) {
    return error.reason === "too-large"
      ? { kind: "body-too-large" }
      : { kind: "body-unreadable", reason: error.reason.startsWith("missing") ? "missing" : "malformed" };
  }
  if (error instanceof InvalidRequestError) return { kind: "request-invalid", errors: error.errors };
  if (!(error instanceof FailureError)) return { kind: "defect" };
  // Keep throws FailureError only with its own failures.
  const failure = error.failure as Failure;
  return isRequestFailure(failure) ? failure : { kind: "defect" };
}

/** Start failures are never thrown while handling a request. */
function isRequestFailure(failure: Failure): failure is RequestFailure {
  return Object.hasOwn(problemTexts, failure.kind);
}

function describeFailure(failure: RequestFailure): ProblemText {
  // The entry of a kind accepts failures of that kind.
  return (problemTexts[failure.kind] as (failure: RequestFailure) => ProblemText)(failure);
}

/** The contract's limits. */
const maxErrors = 64;
const maxReasonCharacters = 2048;
const maxDetailCharacters = 8192;

const notFound: ProblemText = { status: 404, code: "not_found", title: "Not found" };

const failedPreconditions = {
  changed: "the resource has changed",
  missing: "the resource does not exist",
  exists: "the resource exists already",
} as const;

/** Names the person's own identity, and nothing of what the rules are. */
export function refusalText(identity: string): string {
  return `This Keep does not admit you. Ask its operator to admit your identity, ${identity}, and sign in again`;
}

/** Fields of the log that say why a request failed. */
export function failureFields(failure: RequestFailure): Readonly<Record<string, string>> {
  return failure.kind === "not-admitted"
    ? { failure: failure.kind, refusal: failure.reason }
    : { failure: failure.kind };
}

type Kind = RequestFailure["kind"];

/** The mapped type requires an entry for every kind, so a new failure does not compile without one. */
const problemTexts: {
  readonly [Each in Kind]: (failure: Extract<RequestFailure, { readonly kind: Each }>) => ProblemText;
} = {
  "body-unreadable": ({ reason }) => ({
    status: 400,
    code: "invalid_request",
    title: reason === "missing" ? "Request body is missing" : "Request body is not valid JSON",
  }),
  "body-too-large": () => ({ status: 413, code: "payload_too_large", title: "Request body is too large" }),
  "request-invalid": ({ errors }) => ({
    status: 422,
    code: "validation_failed",
    title: "Request validation failed",
    errors: errors.slice(0, maxErrors).map(({ field, reason }) => ({
      place: field.slice(0, 1024),
      reason: reason.slice(0, maxReasonCharacters),
    })),
  }),
  unauthenticated: () => ({
    status: 401,
    code: "unauthenticated",
    title: "Missing or invalid credentials",
    headers: { "www-authenticate": 'Bearer error="invalid_token"' },
  }),
  "credentials-ambiguous": () => ({
    status: 400,
    code: "invalid_request",
    title: "More than one credential",
    detail: "Send either one token or one session cookie",
  }),
  "cross-site": () => ({
    status: 403,
    code: "cross_site",
    title: "Cross-site request refused",
    detail: "A session is accepted from Keep's own pages only, which browsers mark; programs send a token",
  }),
  "insufficient-scope": ({ scope }) => ({
    status: 403,
    code: "insufficient_scope",
    title: "Insufficient scope",
    detail: `This request requires the scope ${scope}`,
    headers: { "www-authenticate": `Bearer error="insufficient_scope", scope="${scope}"` },
  }),
  "out-of-reach": ({ path }) => ({
    status: 403,
    code: "out_of_reach",
    title: "Path not allowed for this token",
    detail: `No path pattern on this token matches ${path}`,
  }),
  "use-not-allowed": ({ reason }) => ({
    status: 403,
    code: "use_not_allowed",
    title: "Egress rule does not allow this request",
    detail: reason,
  }),
  "grant-exceeded": () => ({
    status: 403,
    code: "out_of_reach",
    title: "You cannot grant or manage more than you have",
    detail:
      "Scopes, vaults, paths, addresses and expiry must be within your own, and in an organisation you must manage the vaults, which are to be named; a token can rotate only itself and tokens created with it, and revoke or rename only tokens within its vaults and paths",
  }),
  "session-required": () => ({
    status: 403,
    code: "session_required",
    title: "Requires a signed-in session",
    detail: "A token cannot do this; a person can, in the console or with requests from its pages",
  }),
  "operator-required": () => ({
    status: 403,
    code: "operator_required",
    title: "Requires an operator of this Keep",
  }),
  "sign-in-too-old": () => ({
    status: 403,
    code: "fresh_sign_in_required",
    title: "Requires a recent sign-in; sign in again",
  }),
  "approval-required": ({ subject }) => ({
    status: 409,
    code: "approval_required",
    title: "Requires the approval of a second person",
    detail: `${subject} is protected. Propose the change at POST /api/secrets/vaults/{vault}/changes, and another person can approve it`,
  }),
  "second-person-required": () => ({
    status: 403,
    code: "second_person_required",
    title: "Requires another person",
    detail:
      "Neither whoever proposed a change can approve it, nor whoever created or rotated the token that proposed it",
  }),
  "role-required": () => ({
    status: 403,
    code: "role_required",
    title: "Your role or your access to this vault does not allow this",
  }),
  "last-owner": () => ({
    status: 409,
    code: "last_owner",
    title: "The organisation would have no owner",
    detail: "Make another member an owner first, or delete the organisation",
  }),
  "sign-in-refused": ({ reason }) => ({
    status: 403,
    code: "sign_in_refused",
    title: "Sign-in refused",
    detail: reason,
  }),
  "not-admitted": ({ identity }) => ({
    status: 403,
    code: "sign_in_refused",
    title: "Sign-in refused",
    detail: refusalText(identity),
  }),
  "not-found": () => notFound,
  "invitation-not-valid": () => ({
    ...notFound,
    title: "Invitation not valid",
    detail: "It may have been accepted or revoked, have expired, or be for another person; ask for a new one",
  }),
  "vault-not-allowed": () => notFound,
  "no-such-method": ({ allowed }) => ({
    status: 405,
    code: "method_not_allowed",
    title: "Method not allowed",
    detail: `This URL supports ${allowed.join(", ")}; many clients shorten paths that contain "." or ".." before they send them`,
    headers: { allow: allowed.join(", ") },
  }),
  conflict: ({ reason }) => ({
    status: 409,
    code: "conflict",
    title: "Conflict",
    detail: reason,
  }),
  "token-already-issued": ({ id }) => ({
    status: 409,
    code: "token_already_issued",
    title: "The token was already created; its value is returned only once",
    detail: `The token's id is ${id}; rotate it to get a new value`,
  }),
  "versions-full": ({ max }) => ({
    status: 409,
    code: "versions_full",
    title: `The secret has reached its limit of ${max} versions`,
    detail:
      "Destroy old versions (DELETE …/versions/{n}), raise the vault's most_versions, or set its when_versions_full to destroy-oldest",
  }),
  "quota-exceeded": ({ max, resource }) => ({
    status: 409,
    code: "quota_exceeded",
    title: `Limit of ${max} ${resource} reached`,
  }),
  "precondition-failed": ({ reason, index }) => ({
    status: 412,
    code: "precondition_failed",
    title: `Precondition failed: ${failedPreconditions[reason]}`,
    ...(index === undefined
      ? {}
      : { errors: [{ place: `operations.${index}`, reason: failedPreconditions[reason] }] }),
  }),
  "precondition-required": () => ({
    status: 428,
    code: "precondition_required",
    title: "This vault requires a precondition",
    detail:
      "Send If-Match with the ETag you read, If-None-Match: * to create, or If-Match: * to overwrite any version",
  }),
  "idempotency-mismatch": () => ({
    status: 422,
    code: "idempotency_mismatch",
    title: "Idempotency-Key was already used for a different request",
  }),
  "reference-missing": ({ reference, holder }) => ({
    status: 422,
    code: "reference_missing",
    title: "Reference not found",
    detail: `${reference} in the value of ${holder} does not exist or is not readable`,
  }),
  "reference-cycle": ({ references }) => ({
    status: 422,
    code: "reference_cycle",
    title: "Circular reference",
    detail: references.join(" → "),
  }),
  "exchange-refused": ({ description }) => ({
    status: 400,
    code: "invalid_request",
    title: "Token exchange refused",
    detail: description,
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
    title: "Identity provider unavailable",
    detail: provider,
    headers: { "retry-after": "10" },
  }),
  "database-away": () => ({
    status: 503,
    code: "unavailable",
    title: "Database unavailable",
    headers: { "retry-after": "1" },
  }),
  "account-busy": () => ({
    status: 429,
    code: "rate_limited",
    title: "Too many concurrent requests from this account",
    headers: { "retry-after": "1" },
  }),
  "data-locked": () => ({
    status: 503,
    code: "unavailable",
    title: "Another request is changing the same data; try again",
    headers: { "retry-after": "1" },
  }),
  "nodes-behind": () => ({
    status: 503,
    code: "unavailable",
    title: "The revocation is committed, but not every node has confirmed it yet",
    detail: "Repeat the request to wait again",
    headers: { "retry-after": "1" },
  }),
  "outcome-unknown": () => ({
    status: 503,
    code: "unavailable",
    title: "The database connection was lost before the outcome was known",
    detail: "Repeat the request with the same Idempotency-Key to find out",
    headers: { "retry-after": "1" },
  }),
  "integrity-broken": () => ({
    status: 500,
    code: "integrity_error",
    title: "Integrity check failed",
    detail:
      "The stored data was modified outside Keep, so it was not used; see the server log for this request id",
  }),
  defect: () => ({ status: 500, code: "internal", title: "Internal error" }),
};
