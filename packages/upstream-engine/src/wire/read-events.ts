import type { IncomingMessage } from "node:http";
import { createParser } from "eventsource-parser";
import { WireError } from "./wire-error.ts";

/** A token with twenty alternatives takes a few kilobytes. */
const maxEventCharacters = 8 * 1024 ** 2;
const end = "[DONE]";
/** How long to wait for the end of the body after the last event; it usually arrives together with it. */
const lingerMilliseconds = 100;

/**
 * Yields the JSON of each event of a response. Bytes are read only as fast as events are consumed, and leaving the loop
 * closes the connection.
 */
export async function* readEvents(response: IncomingMessage): AsyncGenerator<unknown, void, undefined> {
  let pending: string[] = [];
  let isTooLarge = false;
  const parser = createParser({
    maxBufferSize: maxEventCharacters,
    onEvent: (event) => void pending.push(event.data),
    onError: ({ type }) => void (isTooLarge ||= type === "max-buffer-size-exceeded"),
  });
  response.setEncoding("utf8");
  let lingerTimer: NodeJS.Timeout | undefined;
  try {
    for await (const chunk of response) {
      if (lingerTimer !== undefined) continue;
      parser.feed(String(chunk));
      if (isTooLarge) throw new WireError({ kind: "too-large" });
      const received = pending;
      pending = [];
      const last = received.indexOf(end);
      for (const text of last === -1 ? received : received.slice(0, last)) yield parse(text);
      // The end of the body is read too, so that the connection can be reused, but only for a short time.
      if (last !== -1) lingerTimer = setTimeout(() => response.destroy(), lingerMilliseconds);
    }
  } catch (error) {
    // After the last event nothing is lost.
    if (lingerTimer === undefined) throw error;
  } finally {
    clearTimeout(lingerTimer);
  }
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (cause) {
    throw new WireError({ kind: "invalid-response" }, cause);
  }
}
