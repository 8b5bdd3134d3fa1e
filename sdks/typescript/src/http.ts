import { ConnectionError, KeepError, type Refusal, requestError, UnavailableError } from "./errors.ts";
import type { FieldProblem } from "./responses.ts";

export type HttpRequest = {
  readonly method?: "GET" | "PUT" | "POST" | "DELETE";
  readonly url: URL;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string;
  /** Whether a second request has no further effect. */
  readonly isRepeatable: boolean;
};

export type HttpResponse = {
  readonly status: number;
  readonly tag: string | undefined;
  /** Of JSON; undefined without a body. */
  readonly body: unknown;
};

export type HttpLimits = { readonly timeoutSeconds: number; readonly maxRetries: number };

const maxResponseBytes = 16 * 1024 * 1024;
/** A server that wants longer pauses gets no further request. */
const maxPauseSeconds = 30;

/** The response of a success, also 304; throws for every other one. */
export async function sendRequest(request: HttpRequest, limits: HttpLimits): Promise<HttpResponse> {
  for (let attempt = 0; ; attempt += 1) {
    try {
      return await sendOnce(request, limits.timeoutSeconds);
    } catch (error) {
      const pause = pauseAfter(error, attempt);
      if (!request.isRepeatable || attempt >= limits.maxRetries || pause === undefined) throw error;
      await new Promise((resolve) => setTimeout(resolve, pause * 1000));
    }
  }
}

/** Seconds before the next attempt; undefined when it would fail too. */
function pauseAfter(error: unknown, attempt: number): number | undefined {
  // Half of it is random, so that clients of a server that restarts do not return together.
  const backOff = 0.2 * 2 ** attempt * (0.5 + Math.random());
  if (error instanceof ConnectionError) return error.code === "unexpected_response" ? undefined : backOff;
  if (!(error instanceof UnavailableError) || ![429, 503].includes(error.status)) return undefined;
  const pause = Math.max(error.retryAfterSeconds ?? 0, backOff);
  return pause > maxPauseSeconds ? undefined : pause;
}

async function sendOnce(
  { method = "GET", url, headers, body }: HttpRequest,
  timeoutSeconds: number,
): Promise<HttpResponse> {
  try {
    const response = await fetch(url, {
      method,
      headers: { accept: "application/json", ...headers },
      ...(body === undefined ? {} : { body }),
      // A redirect could lead to another server.
      redirect: "manual",
      signal: AbortSignal.timeout(timeoutSeconds * 1000),
    });
    const text = await readText(response);
    if (response.status >= 400) throw requestError(readRefusal(response, parseJson(text)));
    if (!response.ok && response.status !== 304) throw unexpected("it redirects to another address");
    const content = response.status === 304 || text === "" ? undefined : parseJson(text);
    return { status: response.status, tag: response.headers.get("etag") ?? undefined, body: content };
  } catch (error) {
    if (error instanceof KeepError) throw error;
    const isTimeout = error instanceof Error && error.name === "TimeoutError";
    throw isTimeout
      ? new ConnectionError("timed_out", `${url.host} did not respond within ${timeoutSeconds} s`)
      : new ConnectionError("unreachable", `Cannot reach ${url.host}`, { cause: error });
  }
}

export function unexpected(reason: string): ConnectionError {
  return new ConnectionError("unexpected_response", `The server did not respond as Keep does: ${reason}`);
}

async function readText(response: Response): Promise<string> {
  if (response.body === null) return "";
  const reader = response.body.getReader();
  const decoder = new TextDecoder();
  const texts: string[] = [];
  let bytes = 0;
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return texts.join("") + decoder.decode();
    bytes += value.length;
    if (bytes > maxResponseBytes) {
      await reader.cancel();
      throw unexpected(`its response has more than ${maxResponseBytes} bytes`);
    }
    texts.push(decoder.decode(value, { stream: true }));
  }
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    // Without the cause, whose message quotes the text.
    throw unexpected("its response is not JSON");
  }
}

/** A problem document, or the error of a token exchange. */
function readRefusal({ status, headers }: Response, body: unknown): Refusal {
  const read = (name: string): string | undefined => {
    const field = fieldOf(body, name);
    return typeof field === "string" ? field.slice(0, 8192) : undefined;
  };
  const errors = fieldOf(body, "errors");
  return {
    status,
    code: read("code") ?? read("error") ?? "unexpected_response",
    title: read("title") ?? read("error_description") ?? "The request failed",
    detail: read("detail"),
    errors: Array.isArray(errors) ? errors.filter(isFieldProblem) : [],
    requestId: headers.get("x-request-id") ?? undefined,
    retryAfterSeconds: readRetryAfter(headers.get("retry-after")),
  };
}

export function fieldOf(body: unknown, name: string): unknown {
  // Any object can be read by name.
  return typeof body === "object" && body !== null ? (body as Record<string, unknown>)[name] : undefined;
}

function isFieldProblem(entry: unknown): entry is FieldProblem {
  return typeof fieldOf(entry, "place") === "string" && typeof fieldOf(entry, "reason") === "string";
}

/** In seconds, or as a date (RFC 9110, section 10.2.3). */
function readRetryAfter(text: string | null): number | undefined {
  if (text === null) return undefined;
  const seconds = /^\d{1,9}$/u.test(text) ? Number(text) : (Date.parse(text) - Date.now()) / 1000;
  return Number.isNaN(seconds) ? undefined : Math.max(0, seconds);
}
