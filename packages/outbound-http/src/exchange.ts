import type { ClientRequest, Agent as HttpAgent, IncomingMessage, RequestOptions } from "node:http";
import type { Agent as HttpsAgent } from "node:https";
import type { LookupFunction } from "node:net";
import { errorCode, toOutboundError } from "./map-error.ts";
import { OutboundError, type OutboundRequestOptions } from "./outbound.ts";

/** One request to a host that passed the rules. */
export type Hop = {
  readonly url: URL;
  readonly headers: Readonly<Record<string, string>>;
  readonly options: OutboundRequestOptions;
  readonly idleSeconds: number;
  readonly connection: {
    readonly agent: HttpAgent | HttpsAgent;
    readonly lookup: LookupFunction;
  };
};

/** An import would also load Node's own client, `fetch`, which takes longer than all else that a command line needs. */
export const loadHttp = () => process.getBuiltinModule("node:http");
export const loadHttps = () => process.getBuiltinModule("node:https");

/** Node's sockets read 64 KiB at a time; this many bytes are buffered before back-pressure reaches the sender. */
const readAheadBytes = 1024 * 1024;
const maxHeadBytes = 16 * 1024;

/** Sends the request and waits for the response headers. */
export async function exchange(hop: Hop): Promise<IncomingMessage> {
  hop.options.signal?.throwIfAborted();
  const first = await tryOnce(hop, hop.connection.agent);
  // A server may close a kept-alive connection just as we reuse it; then it has read nothing of the request.
  return first === "kept-connection-was-closed" ? await tryOnNewConnection(hop) : first;
}

async function tryOnNewConnection(hop: Hop): Promise<IncomingMessage> {
  const second = await tryOnce(hop, false);
  if (second === "kept-connection-was-closed") throw new OutboundError(hop.url.host, "connection-broken");
  return second;
}

async function tryOnce(
  hop: Hop,
  agent: HttpAgent | false,
): Promise<IncomingMessage | "kept-connection-was-closed"> {
  const { url, options } = hop;
  let request: ClientRequest | undefined;
  try {
    request = open(hop, agent);
    return await waitForHead(request, hop);
  } catch (error) {
    request?.destroy();
    if (options.signal?.aborted === true) throw options.signal.reason;
    if (error instanceof RequestBodyError) throw error.cause;
    const isRepeatable =
      ["GET", "HEAD", "PUT"].includes(options.method ?? "GET") &&
      (options.body === undefined || options.body instanceof Uint8Array);
    const isClosed = ["ECONNRESET", "EPIPE"].includes(errorCode(error));
    if (request?.reusedSocket === true && isClosed && isRepeatable) return "kept-connection-was-closed";
    throw toOutboundError(url.host, error);
  }
}

function open({ url, headers, options, connection }: Hop, agent: HttpAgent | false): ClientRequest {
  const requestOptions: RequestOptions & { readonly highWaterMark: number } = {
    method: options.method ?? "GET",
    headers,
    agent,
    lookup: connection.lookup,
    maxHeaderSize: maxHeadBytes,
    highWaterMark: readAheadBytes,
  };
  const { request } = url.protocol === "https:" ? loadHttps() : loadHttp();
  return request(url, requestOptions);
}

async function waitForHead(
  request: ClientRequest,
  { url, options, idleSeconds }: Hop,
): Promise<IncomingMessage> {
  const abort = (): void => void request.destroy();
  const timer = setTimeout(() => {
    request.destroy(new OutboundError(url.host, "timed-out"));
  }, idleSeconds * 1000);
  options.signal?.addEventListener("abort", abort, { once: true });
  try {
    return await new Promise<IncomingMessage>((resolve, reject) => {
      request.once("response", (message) => {
        // Readers of the body see the error themselves; without a reader it must not crash the process.
        message.on("error", () => {});
        // A response before the whole request was sent leaves a connection that cannot be reused.
        message.once("close", () => {
          if (!request.writableEnded) request.destroy();
        });
        resolve(message);
      });
      // Never removed: a connection can fail again after an error or a response.
      request.on("error", reject);
      request.once("close", () => reject(new OutboundError(url.host, "connection-broken")));
      sendBody(request, options, timer).catch((error: unknown) => reject(new RequestBodyError(error)));
    });
  } finally {
    clearTimeout(timer);
    options.signal?.removeEventListener("abort", abort);
  }
}

/** The caller's body iterable failed; its own error is rethrown, because the remote host is not at fault. */
class RequestBodyError extends Error {
  override readonly name = "RequestBodyError";

  constructor(cause: unknown) {
    super("Cannot read the request body", { cause });
  }
}

async function sendBody(
  request: ClientRequest,
  { body }: OutboundRequestOptions,
  timer: NodeJS.Timeout,
): Promise<void> {
  if (body === undefined || body instanceof Uint8Array) {
    request.end(body);
    return;
  }
  let hasResponse = false;
  request.once("response", () => {
    hasResponse = true;
  });
  for await (const chunk of body) {
    // A response before the end of the body rejects the request, so the rest is not sent.
    if (hasResponse || request.destroyed) return;
    timer.refresh();
    if (!request.write(chunk)) await writableAgain(request);
    timer.refresh();
  }
  request.end();
}

function writableAgain(request: ClientRequest): Promise<void> {
  return new Promise((resolve) => {
    const settle = (): void => {
      for (const event of ["drain", "close", "response"]) request.off(event, settle);
      resolve();
    };
    for (const event of ["drain", "close", "response"]) request.on(event, settle);
  });
}
