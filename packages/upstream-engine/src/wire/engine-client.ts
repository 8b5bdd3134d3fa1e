/**
 * @module
 * An HTTP client for engines, over a UNIX socket or TCP: sends JSON, receives JSON or server-sent events, and keeps
 * connections alive. Every response is size-limited, a slow reader applies backpressure to the engine, and aborting the
 * signal or leaving the loop closes the connection immediately.
 * Addresses are not validated: they are our own sockets or come from the operator's settings, never from a request.
 * Imported by the drivers of this package.
 */
import { Agent, type ClientRequest, type IncomingMessage, request as openRequest } from "node:http";
import { request as openSecureRequest, Agent as SecureAgent } from "node:https";
import { readEvents } from "./read-events.ts";
import { unlessAborted } from "./unless-aborted.ts";
import { WireError } from "./wire-error.ts";

export type EngineAddress = URL | { readonly socketPath: string };

export type EngineClientOptions = {
  readonly address: EngineAddress;
  /** The complete header value, e.g. "Bearer …". */
  readonly authorization?: string;
  /** Further requests wait for a connection. */
  readonly maxConnections?: number;
  /** PEM certificates to trust in addition to the system's. */
  readonly certificateAuthority?: string;
};

export type EngineHttpRequest = {
  readonly method?: "GET" | "POST";
  readonly path: string;
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
};

/** A response of any status; `value` is undefined if the body is not JSON. */
export type EngineResponse = {
  readonly status: number;
  readonly value: unknown;
  /** From the Retry-After header. */
  readonly retryAfterSeconds?: number;
};

export type EngineClient = Disposable & {
  request(request: EngineHttpRequest, signal: AbortSignal): Promise<EngineResponse>;
  /**
   * Yields the parsed JSON of each event until `[DONE]` or the end of the body; throws a WireError unless the status is
   * 200.
   */
  stream(request: EngineHttpRequest, signal: AbortSignal): AsyncGenerator<unknown, void, undefined>;
};

const maxResponseBytes = 256 * 1024 ** 2;
const maxErrorBytes = 64 * 1024;
/** Informational responses such as "102 Processing". */
const maxInformationalResponses = 100;

export function createEngineClient(options: EngineClientOptions): EngineClient {
  const isSecure = options.address instanceof URL && options.address.protocol === "https:";
  const agentOptions = { keepAlive: true, maxSockets: options.maxConnections ?? 256 };
  const agent = isSecure
    ? new SecureAgent({ ...agentOptions, ca: options.certificateAuthority })
    : new Agent(agentOptions);
  const open = (request: EngineHttpRequest, signal: AbortSignal): Promise<IncomingMessage> =>
    send(request, { options, agent, isSecure, signal });
  return {
    async request(request, signal) {
      try {
        const response = await open(request, signal);
        const text = await readText(response, maxResponseBytes);
        return { status: response.statusCode ?? 0, value: parse(text), ...readRetryAfter(response) };
      } catch (error) {
        throw toWireError(error, signal);
      }
    },
    async *stream(request, signal) {
      try {
        const response = await open(request, signal);
        const status = response.statusCode ?? 0;
        if (status === 200) yield* readEvents(response);
        else {
          const value = parse(await readText(response, maxErrorBytes));
          throw new WireError({ kind: "error-response", status, value, ...readRetryAfter(response) });
        }
      } catch (error) {
        throw toWireError(error, signal);
      }
    },
    [Symbol.dispose]: () => agent.destroy(),
  };
}

type Connection = {
  readonly options: EngineClientOptions;
  /** False opens a new connection for this request only. */
  readonly agent: Agent | false;
  readonly isSecure: boolean;
  readonly signal: AbortSignal;
};

/**
 * The engine can close a keep-alive connection while a request is being sent. Retrying once is safe, on a new
 * connection: the engine has probably closed all others that were idle as long.
 */
async function send(request: EngineHttpRequest, connection: Connection): Promise<IncomingMessage> {
  try {
    return await sendOnce(request, connection);
  } catch (error) {
    if (!(error instanceof WireError) || error.detail.kind !== "stale-connection") throw error;
    return sendOnce(request, { ...connection, agent: false });
  }
}

function sendOnce(request: EngineHttpRequest, connection: Connection): Promise<IncomingMessage> {
  connection.signal.throwIfAborted();
  const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>();
  const body = request.body === undefined ? undefined : JSON.stringify(request.body);
  const clientRequest = openClientRequest(request, { ...connection, body });
  clientRequest.on("response", resolve);
  clientRequest.on("error", (cause: NodeJS.ErrnoException) => {
    const isStale = clientRequest.reusedSocket && cause.code === "ECONNRESET" && !connection.signal.aborted;
    reject(new WireError({ kind: isStale ? "stale-connection" : "unreachable" }, cause));
  });
  rejectUnusableResponses(clientRequest, reject);
  clientRequest.end(body);
  return unlessAborted(promise, connection.signal);
}

/**
 * Rejects what Node reports neither as a response nor as an error: protocol upgrades, endless informational responses,
 * and a close without a response.
 */
function rejectUnusableResponses(clientRequest: ClientRequest, reject: (error: WireError) => void): void {
  const rejectInvalid = (): void => {
    reject(new WireError({ kind: "invalid-response" }));
    clientRequest.destroy();
  };
  let informationalResponses = 0;
  clientRequest.on("information", () => {
    informationalResponses += 1;
    if (informationalResponses > maxInformationalResponses) rejectInvalid();
  });
  clientRequest.on("upgrade", (_response, socket) => {
    rejectInvalid();
    // After an upgrade, destroying the request no longer closes the socket.
    socket.destroy();
  });
  clientRequest.on("close", () => reject(new WireError({ kind: "unreachable" })));
}

function openClientRequest(
  request: EngineHttpRequest,
  connection: Connection & { readonly body: string | undefined },
): ClientRequest {
  const { options, agent, isSecure, signal, body } = connection;
  const { address, authorization } = options;
  const requestOptions = {
    method: request.method ?? (body === undefined ? "GET" : "POST"),
    agent,
    signal,
    ...(options.certificateAuthority === undefined ? {} : { ca: options.certificateAuthority }),
    headers: {
      ...request.headers,
      ...(authorization === undefined ? {} : { authorization }),
      ...(body === undefined
        ? {}
        : { "content-type": "application/json", "content-length": Buffer.byteLength(body) }),
    },
  };
  if (!(address instanceof URL)) {
    // Used for the Host header only: a UNIX socket has no host.
    return openRequest({ ...requestOptions, ...address, path: request.path, host: "localhost" });
  }
  const url = new URL(address.pathname.replace(/\/$/u, "") + request.path, address);
  return isSecure ? openSecureRequest(url, requestOptions) : openRequest(url, requestOptions);
}

/** Only the form in seconds; a date is ignored, because clocks differ. */
function readRetryAfter({ headers }: IncomingMessage): { readonly retryAfterSeconds?: number } {
  const { "retry-after": text = "" } = headers;
  return /^\d{1,9}$/u.test(text) ? { retryAfterSeconds: Number(text) } : {};
}

async function readText(response: IncomingMessage, maxBytes: number): Promise<string> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const received of response) {
    // Without an encoding, a response yields buffers only.
    const chunk = received as Buffer;
    bytes += chunk.length;
    if (bytes > maxBytes) throw new WireError({ kind: "too-large" });
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString("utf8");
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    // Some engines send errors as plain text.
    return undefined;
  }
}

/** After an abort, the signal's own reason; otherwise an error that describes the connection failure. */
function toWireError(error: unknown, signal: AbortSignal): unknown {
  if (signal.aborted) return signal.reason;
  return error instanceof WireError ? error : new WireError({ kind: "interrupted" }, error);
}
