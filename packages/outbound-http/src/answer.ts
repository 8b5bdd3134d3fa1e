import type { IncomingMessage } from "node:http";
import { explainProblem } from "./explain-problem.ts";
import { type OutboundAnswer, OutboundProblem } from "./outbound.ts";

export type AnswerBounds = {
  readonly url: URL;
  readonly idleSeconds: number;
  readonly signal: AbortSignal | undefined;
};

/** A small whole body may take this many times the idle time in all, however steadily it trickles. */
const wholeBodyPatience = 4;

/** Wraps an answer whose head is there. Refuses a packed one. */
export function wrapAnswer(message: IncomingMessage, bounds: AnswerBounds): OutboundAnswer {
  const { url, signal } = bounds;
  if (isPacked(message)) {
    leave(message);
    throw new OutboundProblem(url.host, "answer-packed");
  }
  const abort = (): void => void message.destroy();
  signal?.addEventListener("abort", abort, { once: true });
  message.once("close", () => signal?.removeEventListener("abort", abort));
  if (signal?.aborted === true) abort();
  return {
    status: message.statusCode ?? 0,
    headers: message.headers,
    url,
    body: { [Symbol.asyncIterator]: () => readBody(message, bounds) },
    readWhole: (mostBytes) => readWhole(message, bounds, mostBytes),
    [Symbol.asyncDispose]() {
      leave(message);
      return Promise.resolve();
    },
  };
}

/** Keeps the connection for the next request when everything is here already, and cuts it otherwise. */
export function leave(message: IncomingMessage): void {
  if (message.complete && !message.destroyed) message.resume();
  else message.destroy();
}

function isPacked({ headers }: IncomingMessage): boolean {
  const packing = headers["content-encoding"] ?? "identity";
  const transfer = headers["transfer-encoding"] ?? "chunked";
  return packing.toLowerCase() !== "identity" || !["chunked", "identity"].includes(transfer.toLowerCase());
}

/** Reads whatever has arrived at once, so that a fast sender costs few turns. Waiting alone has a time limit. */
async function* readBody(message: IncomingMessage, bounds: AnswerBounds): AsyncGenerator<Buffer> {
  const { url, idleSeconds, signal } = bounds;
  let wake: (() => void) | undefined;
  const onChange = (): void => wake?.();
  for (const event of ["readable", "end", "close"]) message.on(event, onChange);
  let isLate = false;
  const timer = setTimeout(() => {
    isLate = true;
    onChange();
  }, idleSeconds * 1000);
  try {
    for (;;) {
      // Without an encoding set, what is read is a Buffer.
      const chunk = message.read() as Buffer | null;
      if (chunk !== null) {
        yield chunk;
        continue;
      }
      if (message.readableEnded && message.complete) return;
      signal?.throwIfAborted();
      if (message.destroyed) throw explainProblem(url.host, message.errored);
      isLate = false;
      timer.refresh();
      await new Promise<void>((settle) => {
        wake = settle;
      });
      if (isLate) throw new OutboundProblem(url.host, "timed-out");
    }
  } finally {
    clearTimeout(timer);
    for (const event of ["readable", "end", "close"]) message.off(event, onChange);
    leave(message);
  }
}

async function readWhole(message: IncomingMessage, bounds: AnswerBounds, mostBytes: number): Promise<Buffer> {
  const { url, idleSeconds } = bounds;
  const deadline = performance.now() + idleSeconds * 1000 * wholeBodyPatience;
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of readBody(message, bounds)) {
    bytes += chunk.length;
    if (bytes > mostBytes) throw new OutboundProblem(url.host, "answer-too-large");
    if (performance.now() > deadline) throw new OutboundProblem(url.host, "timed-out");
    chunks.push(chunk);
  }
  return Buffer.concat(chunks, bytes);
}
