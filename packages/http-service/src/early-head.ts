import { setTimeout as sleep } from "node:timers/promises";
import type { FastifyReply } from "fastify";
import type { Answer, WholeAnswer } from "./answer.ts";
import { passHeaders } from "./send.ts";

const paddingMilliseconds = 15_000;

/** Whether an answer takes longer than a caller may be left without a head. */
export async function isLate(answer: Promise<Answer>, milliseconds: number): Promise<boolean> {
  const settled = new AbortController();
  const { signal } = settled;
  const late = sleep(milliseconds, true, { signal, ref: false }).catch(() => false);
  const inTime = answer.then(
    () => false,
    () => false,
  );
  const isOver = await Promise.race([late, inTime]);
  settled.abort();
  return isOver;
}

/**
 * The head of a JSON answer now, spaces while it is made, and then the answer: readers of JSON skip them. What goes
 * wrong after this has no status of its own any more, only its body.
 */
export async function sendLate(
  reply: FastifyReply,
  answer: Promise<Answer>,
  explain: (problem: unknown) => WholeAnswer,
): Promise<void> {
  reply.hijack();
  const { raw } = reply;
  passHeaders(reply);
  raw.writeHead(200, {
    "content-type": "application/json; charset=utf-8",
    "cache-control": "no-cache",
    "x-accel-buffering": "no",
    "x-request-id": reply.request.id,
  });
  raw.write(" ");
  const padding = setInterval(() => {
    if (!raw.destroyed && !raw.writableNeedDrain) raw.write(" ");
  }, paddingMilliseconds);
  try {
    const settled = await answer.catch(explain);
    if (!raw.destroyed && !("pieces" in settled)) raw.write(settled.body ?? "");
  } finally {
    clearInterval(padding);
    raw.end();
  }
}
