import { type FailureCode, isFailureCode } from "./failure-code.ts";

/** The values a next step needs, as fields of the error object. Each is present only where the failure has it. */
export type ErrorDetails = {
  readonly model?: string;
  /** What the model would have to support, e.g. `vision`. */
  readonly capability?: string;
  /** The registry that a pull or push talked to. */
  readonly host?: string;
  /** Tells failures of one code apart. */
  readonly reason?: ErrorReason;
  readonly retry_after_seconds?: number;
  readonly needed_bytes?: number;
  readonly prompt_tokens?: number;
  readonly context_tokens?: number;
};

const reasons = [
  // address-forbidden
  "private",
  "plain",
  "scheme",
  "redirects",
  // body-invalid
  "missing",
  "malformed",
  "not-a-form",
  "too-large",
  "too-deep",
  "too-complex",
  "missing-length",
  "encoding-not-supported",
  "cut-off",
  // prompt-too-long: what limits the context
  "model",
  "request",
  "setting",
  "memory",
  "engine",
] as const;

type ErrorReason = (typeof reasons)[number];

/** Carries the code of an error response to a HEAD request, which has no body. */
export const errorCodeHeader = "hearth-error-code";

/** The body of an error response, and the last line of a stream that fails. */
export type ErrorBody = { readonly error: string; readonly code: FailureCode } & ErrorDetails;

/** An error as a client reads it. Servers without codes, e.g. Ollama, leave `code` undefined. */
export type ReceivedError = {
  readonly message: string;
  readonly code: FailureCode | undefined;
  readonly details: ErrorDetails;
};

/** Undefined when the value is no error object. Codes and fields this version does not know are ignored. */
export function readErrorBody(value: unknown): ReceivedError | undefined {
  if (!isObject(value) || typeof value["error"] !== "string") return undefined;
  const { error, code } = value;
  return { message: error, code: isFailureCode(code) ? code : undefined, details: readDetails(value) };
}

const textFields = ["model", "capability", "host"] as const;
const numberFields = ["retry_after_seconds", "needed_bytes", "prompt_tokens", "context_tokens"] as const;
const knownReasons: ReadonlySet<unknown> = new Set(reasons);

function readDetails(body: Readonly<Record<string, unknown>>): ErrorDetails {
  const known = [
    ...textFields.filter((field) => typeof body[field] === "string"),
    ...numberFields.filter((field) => Number.isFinite(body[field])),
    ...(knownReasons.has(body["reason"]) ? ["reason"] : []),
  ];
  return Object.fromEntries(known.map((field) => [field, body[field]]));
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null;
}
