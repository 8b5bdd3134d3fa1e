import type { RequestHead, StreamedResponse } from "@hearth-and-keep/http-service";
import { errorEvent, requestIdHeader } from "./errors.ts";

type WireEvent = { readonly type: string };

/** Server-sent events. Events of one batch are written as one chunk. */
export function streamResponse(
  batches: AsyncIterable<readonly WireEvent[]>,
  head: RequestHead,
): StreamedResponse {
  return {
    status: 200,
    headers: { "content-type": "text/event-stream; charset=utf-8", ...requestIdHeader(head) },
    chunks: writeChunks(batches),
    keepAliveChunk: writeEvent({ type: "ping" }),
    formatComment: (text) => `: ${text}\n\n`,
    formatError: (error) => writeEvent(errorEvent(error, head)),
  };
}

async function* writeChunks(batches: AsyncIterable<readonly WireEvent[]>): AsyncGenerator<string> {
  for await (const events of batches) {
    if (events.length > 0) yield events.map(writeEvent).join("");
  }
}

function writeEvent(event: WireEvent): string {
  return `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`;
}
