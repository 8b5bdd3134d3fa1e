import type { StreamedResponse } from "@hearth-and-keep/http-service";
import type { HearthRequest } from "../../dependencies.ts";
import { mapError } from "./errors.ts";

/** Server-sent events that end with `[DONE]`, or with an error object instead. */
export function streamResponse(
  events: AsyncIterable<unknown>,
  request: Pick<HearthRequest, "addLogFields" | "requestId">,
): StreamedResponse {
  return {
    status: 200,
    headers: { "content-type": "text/event-stream; charset=utf-8" },
    chunks: writeChunks(events),
    keepAliveChunk: ":\n\n",
    formatComment: (text) => `: ${text}\n\n`,
    formatError: (error) => writeEvent({ error: mapError(error, request).error }),
  };
}

async function* writeChunks(events: AsyncIterable<unknown>): AsyncGenerator<string> {
  for await (const event of events) yield writeEvent(event);
  yield "data: [DONE]\n\n";
}

function writeEvent(event: unknown): string {
  return `data: ${JSON.stringify(event)}\n\n`;
}
