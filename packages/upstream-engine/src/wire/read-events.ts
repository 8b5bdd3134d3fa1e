import type { IncomingMessage } from "node:http";
import { createParser } from "eventsource-parser";
import { WireProblem } from "./wire-problem.ts";

/** One token with twenty alternatives takes a few kilobytes. */
const mostEventCharacters = 8 * 1024 ** 2;
const end = "[DONE]";

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
  let isComplete = false;
  for await (const part of response) {
    // Behind the last event only the end of the body follows; read too, so that the connection can be used again.
    if (isComplete) continue;
    parser.feed(String(part));
    if (isTooLarge) throw new WireProblem({ kind: "too-large" });
    const arrived = texts;
    texts = [];
    for (const text of arrived) {
      if (text === end) isComplete = true;
      else yield parse(text);
    }
  }
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (cause) {
    throw new WireProblem({ kind: "not-understood" }, cause);
  }
}
