import { type Static, Type } from "typebox";

/** Every problem code. The meaning of a code never changes, so clients can rely on it. */
export const problemCodes = [
  "invalid_request",
  "validation_failed",
  "unauthenticated",
  "cross_site",
  "insufficient_scope",
  "out_of_reach",
  "use_not_allowed",
  "session_required",
  "operator_required",
  "role_required",
  "approval_required",
  "second_person_required",
  "fresh_sign_in_required",
  "sign_in_refused",
  "not_found",
  "method_not_allowed",
  "conflict",
  "last_owner",
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

const fieldProblem = Type.Object(
  {
    place: Type.String({
      maxLength: 1024,
      description:
        "The field, with dots between names and list indexes, e.g. `operations.0.path`; empty for all",
    }),
    reason: Type.String({
      maxLength: 2048,
      description: "What is wrong with it, and which values are allowed",
    }),
  },
  { title: "FieldProblem", description: "A field of the request that was rejected" },
);

/** RFC 9457 problem document: the response of every failed request. */
export const problem = Type.Object(
  {
    type: Type.String({ maxLength: 128, description: "URN of the code" }),
    title: Type.String({ maxLength: 256, description: "What happened, for people; may change" }),
    status: Type.Integer({ minimum: 400, maximum: 599, description: "The response's status" }),
    code: Type.Enum([...problemCodes], {
      title: "ProblemCode",
      description: "What happened, for programs; the meaning of a code never changes",
    }),
    detail: Type.Optional(
      Type.String({ maxLength: 8192, description: "More about this failure, for people; may change" }),
    ),
    errors: Type.Optional(
      Type.Array(fieldProblem, { maxItems: 64, description: "The fields that were rejected" }),
    ),
    request_id: Type.String({ maxLength: 64, description: "Names the request in the server's log" }),
  },
  { title: "Problem", description: "A failed request (RFC 9457)" },
);

export type Problem = Static<typeof problem>;
