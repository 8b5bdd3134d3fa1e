import type { IncomingMessage } from "node:http";
import { text } from "node:stream/consumers";

/** The fields of a posted form, or of a JSON object whose values are strings. */
export async function readForm(request: IncomingMessage): Promise<URLSearchParams> {
  const body = await text(request);
  const isJson = request.headers["content-type"]?.startsWith("application/json") === true;
  // Members that are not strings become strings, which no field accepts.
  return new URLSearchParams(isJson ? (JSON.parse(body) as Record<string, string>) : body);
}
