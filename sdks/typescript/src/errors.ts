import type { FieldProblem } from "./responses.ts";

/** Why something failed. Messages and fields contain no value and no token. */
export class KeepError extends Error {
  /** For programs: a problem code of the server, or `invalid_configuration`, `unreachable`, `timed_out` and the like. */
  readonly code: string;

  constructor(code: string, message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = new.target.name;
    this.code = code;
  }
}

/** An option or an environment variable is missing or invalid. */
export class ConfigurationError extends KeepError {
  constructor(message: string) {
    super("invalid_configuration", message);
  }
}

/** The server cannot be reached, did not respond in time, or is not Keep. */
export class ConnectionError extends KeepError {}

export type Refusal = {
  readonly status: number;
  readonly code: string;
  readonly title: string;
  readonly detail: string | undefined;
  readonly errors: readonly FieldProblem[];
  readonly requestId: string | undefined;
  readonly retryAfterSeconds: number | undefined;
};

/** The server refused a request, and says why in a problem document. */
export class RequestError extends KeepError {
  readonly status: number;
  readonly title: string;
  readonly detail: string | undefined;
  /** Fields of the request that were rejected. */
  readonly errors: readonly FieldProblem[];
  /** Names the request in the server's log. */
  readonly requestId: string | undefined;
  readonly retryAfterSeconds: number | undefined;

  constructor({ code, title, status, detail, ...rest }: Refusal) {
    super(code, [`${title} (${status} ${code})`, detail ?? []].flat().join(": "));
    this.status = status;
    this.title = title;
    this.detail = detail;
    this.errors = rest.errors;
    this.requestId = rest.requestId;
    this.retryAfterSeconds = rest.retryAfterSeconds;
  }
}

/** The token is not accepted, or may not do this. */
export class AccessDeniedError extends RequestError {}
/** No such secret or vault, or none that the token may see. */
export class NotFoundError extends RequestError {}
/** The secret is not as the write required. */
export class PreconditionFailedError extends RequestError {}
/** Too many requests, or the server failed; retries did not help. */
export class UnavailableError extends RequestError {}

export function requestError(refusal: Refusal): RequestError {
  const { status } = refusal;
  if (status === 401 || status === 403) return new AccessDeniedError(refusal);
  if (status === 404) return new NotFoundError(refusal);
  if (status === 412 || status === 428) return new PreconditionFailedError(refusal);
  return status === 429 || status >= 500 ? new UnavailableError(refusal) : new RequestError(refusal);
}
