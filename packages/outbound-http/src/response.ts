import type { IncomingMessage } from "node:http";
import { toOutboundError } from "./map-error.ts";
import { OutboundError, type OutboundResponse } from "./outbound.ts";

export type ResponseOptions = {
  readonly url: URL;
  readonly idleSeconds: number;
  readonly signal: AbortSignal | undefined;
};

/** `readAll` may take this many idle times in total, so that a trickling body does not hold it for ever. */
const maxIdlePeriods = 4;

/** Throws when the response is compressed. */
export function wrapResponse(message: IncomingMessage, options: ResponseOptions): OutboundResponse {
  const { url, signal } = options;
  if (isCompressed(message)) {
    releaseConnection(message);
    throw new OutboundError(url.host, "response-compressed");
  }
  const abort = (): void => void message.destroy();
  signal?.addEventListener("abort", abort, { once: true });
  message.once("close", () => signal?.removeEventListener("abort", abort));
  if (signal?.aborted === true) abort();
  return {
    status: message.statusCode ?? 0,
    headers: message.headers,
    url,
    body: { [Symbol.asyncIterator]: () => readBody(message, options) },
    readAll: (maxBytes) => readAll(message, options, maxBytes),
    [Symbol.asyncDispose]() {
      releaseConnection(message);
      return Promise.resolve();
    },
  };
}

/** Keeps the connection alive when the response is complete, and closes it otherwise. */
export function releaseConnection(message: IncomingMessage): void {
  if (message.complete && !message.destroyed) message.resume();
  else message.destroy();
}

function isCompressed({ headers }: IncomingMessage): boolean {
  const encoding = headers["content-encoding"] ?? "identity";
  const transfer = headers["transfer-encoding"] ?? "chunked";
  return encoding.toLowerCase() !== "identity" || !["chunked", "identity"].includes(transfer.toLowerCase());
}

/** Reads everything that has arrived at once, so that a fast sender costs few event-loop turns; only waiting is timed. */
async function* readBody(message: IncomingMessage, options: ResponseOptions): AsyncGenerator<Buffer> {
  const { url, idleSeconds, signal } = options;
  let wake: (() => void) | undefined;
  const onChange = (): void => wake?.();
  for (const event of ["readable", "end", "close"]) message.on(event, onChange);
  let isLate = false;
  const timer = setTimeout(() => {
    isLate = true;
    onChange();
  }, idleSeconds * 1000);
  try {
    for (;;) {
      // Without an encoding, `read` returns buffers.
      const chunk = message.read() as Buffer | null;
      if (chunk !== null) {
        yield chunk;
        continue;
      }
      if (message.readableEnded && message.complete) return;
      signal?.throwIfAborted();
      if (message.destroyed) throw toOutboundError(url.host, message.errored);
      isLate = false;
      timer.refresh();
      await new Promise<void>((resolve) => {
        wake = resolve;
      });
      if (isLate) throw new OutboundError(url.host, "timed-out");
    }
  } finally {
    clearTimeout(timer);
    for (const event of ["readable", "end", "close"]) message.off(event, onChange);
    releaseConnection(message);
  }
}

async function readAll(
  message: IncomingMessage,
  options: ResponseOptions,
  maxBytes: number,
): Promise<Buffer> {
  const { url, idleSeconds } = options;
  const deadline = performance.now() + idleSeconds * 1000 * maxIdlePeriods;
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of readBody(message, options)) {
    bytes += chunk.length;
    if (bytes > maxBytes) throw new OutboundError(url.host, "response-too-large");
    if (performance.now() > deadline) throw new OutboundError(url.host, "timed-out");
    chunks.push(chunk);
  }
  return Buffer.concat(chunks, bytes);
}
