import type { IncomingMessage } from "node:http";
import { createParser } from "eventsource-parser";
import { WireError } from "./wire-error.ts";

/** One token with twenty alternatives takes a few kilobytes. */
const mostEventCharacters = 8 * 1024 ** 2;
const end = "[DONE]";
/** For the end of the body behind the last event, which usually comes with it. */
const lingerMilliseconds = 100;

/**
 * The JSON of each event of a response. Bytes are read only as fast as events are taken, and leaving the loop closes
 * the connection.
 */
export async function* readEvents(response: IncomingMessage): AsyncGenerator<unknown, void, undefined> {
  let texts: string[] = [];
  let isTooLarge = false;
  const parser = createParser({
    maxBufferSize: mostEventCharacters,
    onEvent: (event) => void texts.push(event.data),
    onError: ({ type }) => void (isTooLarge ||= type === "max-buffer-size-exceeded"),
  });
  response.setEncoding("utf8");
  let lingering: NodeJS.Timeout | undefined;
  try {
    for await (const part of response) {
      if (lingering !== undefined) continue;
      parser.feed(String(part));
      if (isTooLarge) throw new WireError({ kind: "too-large" });
      const arrived = texts;
      texts = [];
      const last = arrived.indexOf(end);
      for (const text of last === -1 ? arrived : arrived.slice(0, last)) yield parse(text);
      // The end of the body is read too, so that the connection can be used again; but it is not waited for long.
      if (last !== -1) lingering = setTimeout(() => response.destroy(), lingerMilliseconds);
    }
  } catch (problem) {
    // Behind the last event nothing is missing.
    if (lingering === undefined) throw problem;
  } finally {
    clearTimeout(lingering);
  }
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (cause) {
    throw new WireError({ kind: "not-understood" }, cause);
  }
}
