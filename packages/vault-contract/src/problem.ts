import { type Static, Type } from "typebox";

/** Every problem code. The meaning of a code never changes, so clients can rely on it. */
export const problemCodes = [
  "invalid_request",
  "validation_failed",
  "unauthenticated",
  "cross_site",
  "insufficient_scope",
  "out_of_reach",
  "session_required",
  "fresh_sign_in_required",
  "sign_in_refused",
  "not_found",
  "method_not_allowed",
  "conflict",
  "token_already_issued",
  "precondition_failed",
  "precondition_required",
  "idempotency_mismatch",
  "versions_full",
  "quota_exceeded",
  "reference_missing",
  "reference_cycle",
  "payload_too_large",
  "rate_limited",
  "integrity_error",
  "unavailable",
  "internal",
] as const;

export type ProblemCode = (typeof problemCodes)[number];

/** RFC 9457 problem document: the response of every failed request. */
export const problem = Type.Object({
  type: Type.String({ maxLength: 128 }),
  title: Type.String({ maxLength: 256 }),
  status: Type.Integer({ minimum: 400, maximum: 599 }),
  code: Type.Enum([...problemCodes]),
  detail: Type.Optional(Type.String({ maxLength: 8192 })),
  errors: Type.Optional(
    Type.Array(
      Type.Object({ place: Type.String({ maxLength: 1024 }), reason: Type.String({ maxLength: 1024 }) }),
      { maxItems: 64 },
    ),
  ),
  request_id: Type.String({ maxLength: 64 }),
});

export type Problem = Static<typeof problem>;
