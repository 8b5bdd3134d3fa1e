import type { CallHead, StreamAnswer } from "@hearth-and-keep/http-service";
import { failureObject } from "./errors.ts";

type Framing = {
  readonly contentType: string;
  readonly frame: (object: unknown) => string;
  readonly filler: string;
};

/** Parsers of this family read line by line and forgive spaces before an object, but no empty line. */
const lines: Framing = {
  contentType: "application/x-ndjson",
  frame: (object) => `${JSON.stringify(object)}\n`,
  filler: " ",
};

const serverSentEvents: Framing = {
  contentType: "text/event-stream",
  frame: (object) => `data: ${JSON.stringify(object)}\n\n`,
  filler: ":\n\n",
};

/** `headers` are read when the first object is there. */
export function answerStream(
  head: CallHead,
  objects: AsyncIterable<unknown>,
  headers: Record<string, string>,
): StreamAnswer {
  const { contentType, frame, filler } = wantsServerSentEvents(head) ? serverSentEvents : lines;
  headers["content-type"] = contentType;
  return {
    status: 200,
    headers,
    pieces: framed(objects, frame),
    filler,
    endFailed: (problem) => frame(failureObject(problem, head)),
  };
}

async function* framed(objects: AsyncIterable<unknown>, frame: Framing["frame"]): AsyncGenerator<string> {
  for await (const object of objects) yield frame(object);
}

/** No client library of this family reads them, so they are for those who ask for nothing else. */
function wantsServerSentEvents({ headers }: CallHead): boolean {
  const types = String(headers["accept"] ?? "")
    .toLowerCase()
    .split(",")
    .map((entry) => entry.split(";", 1)[0]?.trim());
  const wantsLines = types.includes("application/json") || types.includes("application/x-ndjson");
  return types.includes("text/event-stream") && !wantsLines;
}
