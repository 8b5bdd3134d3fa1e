import type { Readable } from "node:stream";
import { BodyError } from "./read-body.ts";
import type { HttpRequest } from "./route.ts";

export type StreamLimits = {
  readonly maxBytes: number;
  /** Longest time without data from the client; the time the consumer takes is not counted. */
  readonly idleSeconds: number;
};

/**
 * The body of a row with `body: "stream"`, with back-pressure: a slow consumer slows the client down. Throws BodyError
 * when the body is too large, ends early, or stalls.
 */
export async function* streamBody(
  request: Pick<HttpRequest, "headers" | "body">,
  limits: StreamLimits,
): AsyncGenerator<Uint8Array> {
  if (Number(request.headers["content-length"]) > limits.maxBytes) throw new BodyError("too-large");
  // The parser of such rows passes on the socket's stream; a request without a body has none.
  const stream = request.body as Readable | undefined;
  if (stream === undefined) return;
  let bytes = 0;
  let idleTimer = startIdleTimer(stream, limits);
  try {
    // Keeps the socket open when the consumer stops early, because the response is still to be sent.
    for await (const chunk of stream.iterator({ destroyOnReturn: false })) {
      clearTimeout(idleTimer);
      bytes += chunk.length;
      if (bytes > limits.maxBytes) throw new BodyError("too-large");
      yield chunk;
      idleTimer = startIdleTimer(stream, limits);
    }
  } finally {
    clearTimeout(idleTimer);
  }
}

function startIdleTimer(stream: Readable, { idleSeconds }: StreamLimits): NodeJS.Timeout {
  return setTimeout(() => stream.destroy(new BodyError("cut-off")), idleSeconds * 1000);
}
