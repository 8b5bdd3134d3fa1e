import type { RequestHead, StreamedResponse } from "@hearth-and-keep/http-service";
import { toErrorLine } from "./errors.ts";

type Format = Pick<StreamedResponse, "keepAliveChunk" | "formatComment"> & {
  readonly contentType: string;
  readonly write: (object: unknown) => string;
};

/**
 * Clients parse line by line. They accept spaces before an object, but no empty lines, and no objects without the fields
 * that they expect: there is no room for comments.
 */
const ndjson: Format = {
  contentType: "application/x-ndjson",
  write: (object) => `${JSON.stringify(object)}\n`,
  keepAliveChunk: " ",
};

const serverSentEvents: Format = {
  contentType: "text/event-stream",
  write: (object) => `data: ${JSON.stringify(object)}\n\n`,
  keepAliveChunk: ":\n\n",
  formatComment: (text) => `: ${text}\n\n`,
};

/** `headers` are not read until the first object is available. */
export function streamResponse(
  head: RequestHead,
  objects: AsyncIterable<unknown>,
  headers: Record<string, string>,
): StreamedResponse {
  const { contentType, write, ...format } = wantsServerSentEvents(head) ? serverSentEvents : ndjson;
  headers["content-type"] = contentType;
  return {
    status: 200,
    headers,
    chunks: writeChunks(objects, write),
    ...format,
    formatError: (error) => write(toErrorLine(error, head)),
  };
}

async function* writeChunks(objects: AsyncIterable<unknown>, write: Format["write"]): AsyncGenerator<string> {
  for await (const object of objects) yield write(object);
}

/** Ollama clients expect NDJSON, so events are sent only if the client accepts no JSON. */
export function wantsServerSentEvents({ headers }: RequestHead): boolean {
  const types = String(headers["accept"] ?? "")
    .toLowerCase()
    .split(",")
    .map((entry) => entry.split(";", 1)[0]?.trim());
  const acceptsJson = types.includes("application/json") || types.includes("application/x-ndjson");
  return types.includes("text/event-stream") && !acceptsJson;
}
