/**
 * @module
 * Client of Keep's API: requests typed by the contract, errors as `ApiError`, and a cache of responses that mutations
 * invalidate. Every write carries an `Idempotency-Key`, and a precondition where the caller has a revision. Secret values
 * are never cached here; they live only in the component that shows them.
 * Imported by screens.
 */
import type { Problem } from "@hearth-and-keep/vault-contract";

/** The members of a problem document (RFC 9457) that the console uses. */
type ProblemDetails = Partial<Omit<Problem, "code">> &
  Pick<Problem, "title"> & { readonly code: ApiError["code"] };

/** A failed request. Callers decide by `code`; the message is the server's text, for display only. */
export class ApiError extends Error {
  override readonly name = "ApiError";
  readonly status: number;
  readonly code: Problem["code"] | "unreachable";
  /** What is wrong with parts of the request. */
  readonly errors: NonNullable<Problem["errors"]>;

  constructor(status: number, problem: ProblemDetails) {
    super(formatProblem(problem));
    this.status = status;
    this.code = problem.code;
    this.errors = problem.errors ?? [];
  }
}

function formatProblem({ title, detail, errors = [] }: ProblemDetails): string {
  const reasons = errors.map(({ place, reason }) => `${place} ${reason}`).join(", ");
  return [title, detail ?? "", reasons].filter((part) => part !== "").join(": ");
}

export function toApiError(error: unknown): ApiError {
  if (error instanceof ApiError) return error;
  return new ApiError(0, { title: "Something went wrong in the console", code: "internal" });
}

export type RequestOptions = {
  readonly method?: "GET" | "POST" | "PUT" | "PATCH" | "DELETE";
  readonly body?: unknown;
  /** Precondition: the revision that was read, `new` if nothing may exist yet, `any` if something must exist. */
  readonly revision?: number | "new" | "any";
  readonly signal?: AbortSignal;
};

export type ApiResponse<Body> = {
  readonly status: number;
  readonly body: Body;
  readonly etag: string | undefined;
};

/** Sends a request. Throws an `ApiError` unless the response is a success; an empty response has an undefined body. */
export async function request<Body>(path: string, options: RequestOptions = {}): Promise<ApiResponse<Body>> {
  const { method = "GET", body, signal } = options;
  const response = await fetch(path, {
    method,
    headers: buildHeaders(options),
    credentials: "same-origin",
    cache: "no-store",
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    ...(signal === undefined ? {} : { signal }),
  }).catch((error: unknown) => {
    if (signal?.aborted === true) throw error;
    throw new ApiError(0, { title: "Cannot reach Keep", code: "unreachable" });
  });
  const text = await response.text();
  const content: unknown = text === "" || !isJson(response) ? text : JSON.parse(text);
  // The contract: every response that is not a success is a problem document.
  if (!response.ok) throw failedRequest(response.status, content as Partial<Problem>);
  // The server validates its responses against the same contract.
  return { status: response.status, body: content as Body, etag: response.headers.get("etag") ?? undefined };
}

/** On 401 the browser also goes to the sign-in page, which returns here afterwards. */
function failedRequest(status: number, problem: Partial<Problem>): ApiError {
  if (status === 401) {
    const returnTo = encodeURIComponent(window.location.pathname + window.location.search);
    window.location.assign(`/sign-in?return_to=${returnTo}`);
  }
  return new ApiError(status, {
    ...problem,
    title: problem.title ?? "Keep sent an unexpected response",
    code: problem.code ?? "internal",
  });
}

function isJson(response: Response): boolean {
  return (response.headers.get("content-type") ?? "").includes("json");
}

function buildHeaders({ method = "GET", body, revision }: RequestOptions): Record<string, string> {
  return {
    accept: "application/json",
    ...(body === undefined ? {} : { "content-type": "application/json" }),
    ...(method === "GET" ? {} : { "idempotency-key": crypto.randomUUID() }),
    ...(revision === "new" ? { "if-none-match": "*" } : {}),
    ...(revision === "any" ? { "if-match": "*" } : {}),
    ...(typeof revision === "number" ? { "if-match": `"${revision}"` } : {}),
  };
}
