/**
 * @module
 * The client of this server's own API: JSON responses, streams of lines, and one kind of error with the server's
 * message, its code and the next step. The browser adds the password that the user entered; no key is seen or stored
 * here.
 * Imported by `state/` and by screens.
 */
import {
  type FailureCode,
  nextStepFor,
  nextStepForStatus,
  type ReceivedError,
  readErrorBody,
  readStreamNotice,
} from "@hearth-and-keep/hearth-contract";
import type { Suggestion } from "./suggestion.ts";

/** A request that failed: at the server, or on the way to it. */
export class RequestError extends Error {
  override readonly name = "RequestError";
  readonly code: FailureCode | undefined;
  readonly suggestion: Suggestion | undefined;

  constructor(message: string, suggestion?: Suggestion, code?: FailureCode) {
    super(message);
    this.suggestion = suggestion;
    this.code = code;
  }
}

export type RequestOptions = {
  readonly method?: "GET" | "POST" | "DELETE";
  readonly body?: unknown;
  readonly signal?: AbortSignal;
  /** For a stream of a request that may load a model: called with the percentage that is loaded. */
  readonly onLoadProgress?: (percent: number) => void;
  /** Likewise, while it waits for its turn: called with its position in words. */
  readonly onQueued?: (position: string) => void;
};

export async function request<Body>(path: string, options: RequestOptions = {}): Promise<Body> {
  const response = await send(path, options);
  const text = await response.text();
  // The types are those of this server's documented API.
  return (text === "" ? undefined : JSON.parse(text)) as Body;
}

export async function requestText(path: string, options: RequestOptions = {}): Promise<string> {
  return (await send(path, options)).text();
}

/** Yields one object per line of a streamed response. A stream that is cut off ends like a complete one. */
export async function* streamLines<Line>(path: string, options: RequestOptions): AsyncGenerator<Line> {
  const response = await send(path, options);
  const reader = (response.body ?? new Blob([]).stream()).pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  try {
    for (let chunk = await reader.read(); !chunk.done; chunk = await reader.read()) {
      const lines = (rest + chunk.value).split("\n");
      rest = lines.pop() ?? "";
      for (const line of lines) {
        if (line.startsWith(":")) reportProgress(line, options);
        else if (line.trim() !== "") yield parseLine<Line>(line.replace(/^data: /u, ""));
      }
    }
    if (rest.trim() !== "") yield parseLine<Line>(rest);
  } catch (error) {
    if (options.signal?.aborted === true || error instanceof RequestError) throw error;
    throw new RequestError("Connection to Hearth lost", { action: "check-connection" });
  } finally {
    await reader.cancel().catch(() => undefined);
  }
}

/** Comments of server-sent events; most only keep the connection open. */
function reportProgress(comment: string, { onLoadProgress, onQueued }: RequestOptions): void {
  const { loadPercent, queued } = readStreamNotice(comment) ?? {};
  if (loadPercent !== undefined) onLoadProgress?.(loadPercent);
  if (queued !== undefined) onQueued?.(queued);
}

function parseLine<Line>(line: string): Line {
  const value: unknown = JSON.parse(line);
  const received = readErrorBody(value);
  if (received !== undefined) throw fromReceived(received, 500);
  // As above.
  return value as Line;
}

async function send(path: string, options: RequestOptions): Promise<Response> {
  const first = await sendOnce(path, options);
  const response = first.status === 401 && (await unlockApi()) ? await sendOnce(path, options) : first;
  if (!response.ok) throw fromReceived(await readError(response), response.status);
  return response;
}

let unlocked: Promise<boolean> | undefined;

/**
 * Browsers send a password only below the folder of the page that asked for it, which is `/ui/` if another page than
 * `/ui` was opened first. A page load of `/ui`, whose folder is `/`, makes them send it to the API as well. Once, because
 * a browser asks for the password again if it is wrong.
 */
function unlockApi(): Promise<boolean> {
  unlocked ??= fetch("/ui", { headers: { accept: "text/html" }, cache: "no-store" }).then(
    ({ ok }) => ok,
    () => false,
  );
  return unlocked;
}

async function sendOnce(
  path: string,
  { method = "GET", body, signal, onLoadProgress }: RequestOptions,
): Promise<Response> {
  return fetch(path, {
    method,
    headers: {
      // The other format has no room for progress.
      accept: onLoadProgress === undefined ? "application/json" : "text/event-stream",
      ...(body === undefined ? {} : { "content-type": "application/json" }),
    },
    cache: "no-store",
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    ...(signal === undefined ? {} : { signal }),
  }).catch((error: unknown) => {
    if (signal?.aborted === true) throw error;
    throw new RequestError("Cannot reach Hearth", { action: "start-server" });
  });
}

const maxMessageCharacters = 500;

/** Responses of a proxy have no error object; their text is shown instead. */
async function readError(response: Response): Promise<ReceivedError> {
  const text = await response.text();
  const message = text.slice(0, maxMessageCharacters) || `HTTP status ${response.status}`;
  return readErrorBody(parseJson(text)) ?? { message, code: undefined, details: {} };
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function fromReceived({ message, code, details }: ReceivedError, status: number): RequestError {
  const suggestion = code === undefined ? nextStepForStatus(status) : nextStepFor(code, details);
  return new RequestError(message, suggestion, code);
}

export function toRequestError(error: unknown): RequestError {
  return error instanceof RequestError ? error : new RequestError("Something went wrong on this page");
}
