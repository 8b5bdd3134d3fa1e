import { once } from "node:events";
import type { ServerResponse } from "node:http";
import type { FastifyReply } from "fastify";
import type { Answer, StreamAnswer, WholeAnswer } from "./answer.ts";

/** A failure before the first piece still has its own status; a caller does not wait longer for a head than this. */
const longestHeadMilliseconds = 30_000;
const fillerMilliseconds = 15_000;

export async function send(reply: FastifyReply, answer: Answer): Promise<void> {
  if ("pieces" in answer) await sendStream(reply, answer);
  else sendWhole(reply, answer);
}

export function sendWhole(reply: FastifyReply, answer: WholeAnswer): void {
  void reply.code(answer.status).headers(headersOf(reply, answer)).send(answer.body);
}

function headersOf(reply: FastifyReply, { headers }: Answer): Record<string, string> {
  return { ...headers, "x-request-id": reply.request.id };
}

/** Who writes a head past the framework gives it the headers of every answer, which the framework has. */
export function passHeaders(reply: FastifyReply): void {
  for (const [name, value] of Object.entries(reply.getHeaders())) {
    if (value !== undefined) reply.raw.setHeader(name, value);
  }
}

async function sendStream(reply: FastifyReply, answer: StreamAnswer): Promise<void> {
  const pieces = answer.pieces[Symbol.asyncIterator]();
  const first = pieces.next();
  // What goes wrong before the head is thrown, and answered with its own status.
  await Promise.race([first, wait(longestHeadMilliseconds, reply.raw)]);
  reply.hijack();
  const { raw } = reply;
  passHeaders(reply);
  raw.writeHead(answer.status, {
    ...headersOf(reply, answer),
    "cache-control": "no-cache",
    "x-accel-buffering": "no",
  });
  raw.flushHeaders();
  try {
    await writePieces(raw, { first, pieces, filler: answer.filler });
  } catch (problem) {
    if (!raw.destroyed) raw.write(answer.endFailed(problem));
  }
  raw.end();
}

type Source = {
  readonly first: Promise<IteratorResult<string>>;
  readonly pieces: AsyncIterator<string>;
  readonly filler: string;
};

async function writePieces(raw: ServerResponse, { first, pieces, filler }: Source): Promise<void> {
  const timer = setInterval(() => {
    if (!raw.destroyed && !raw.writableNeedDrain) raw.write(filler);
  }, fillerMilliseconds);
  try {
    for (let next = await first; next.done !== true; next = await pieces.next()) {
      if (raw.destroyed) {
        await pieces.return?.();
        return;
      }
      if (!raw.write(next.value)) await drained(raw);
      // A timer that is set back costs far less than a new one, and there is one piece for every token.
      timer.refresh();
    }
  } finally {
    clearInterval(timer);
  }
}

/** Also ends when the caller is gone. */
async function drained(raw: ServerResponse): Promise<void> {
  const settled = new AbortController();
  const { signal } = settled;
  try {
    await Promise.race([once(raw, "drain", { signal }), once(raw, "close", { signal })]);
  } finally {
    settled.abort();
  }
}

/** Ends early when the caller is gone. */
async function wait(milliseconds: number, raw: ServerResponse): Promise<void> {
  const patience = new AbortController();
  const timer = setTimeout(() => patience.abort(), milliseconds);
  await once(raw, "close", { signal: patience.signal }).catch(() => undefined);
  clearTimeout(timer);
}
