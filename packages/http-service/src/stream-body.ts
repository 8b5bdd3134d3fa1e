import type { Readable } from "node:stream";
import { BodyProblem } from "./read-body.ts";
import type { Call } from "./route.ts";

export type StreamBounds = {
  readonly mostBytes: number;
  /** How long the caller may send nothing; the time that the reader takes is not counted. */
  readonly idleSeconds: number;
};

/**
 * The body of a row that asked for a stream, as it comes: a reader that is slow holds the caller back. Throws
 * BodyProblem when there is more than was agreed, when it ends early, or when the caller falls silent.
 */
export async function* streamBody(call: Call, bounds: StreamBounds): AsyncGenerator<Uint8Array> {
  if (Number(call.headers["content-length"]) > bounds.mostBytes) throw new BodyProblem("too-large");
  // The parser of such rows passes the socket's own stream on; a request without a body has none.
  const stream = call.body as Readable | undefined;
  if (stream === undefined) return;
  let bytes = 0;
  let isSilent = startSilence(stream, bounds);
  try {
    // The socket stays open when the reader stops, because the caller is still to be told why.
    for await (const chunk of stream.iterator({ destroyOnReturn: false })) {
      clearTimeout(isSilent);
      bytes += chunk.length;
      if (bytes > bounds.mostBytes) throw new BodyProblem("too-large");
      yield chunk;
      isSilent = startSilence(stream, bounds);
    }
  } finally {
    clearTimeout(isSilent);
  }
}

function startSilence(stream: Readable, { idleSeconds }: StreamBounds): NodeJS.Timeout {
  return setTimeout(() => stream.destroy(new BodyProblem("cut-off")), idleSeconds * 1000);
}
