import { once } from "node:events";
import type { ServerResponse } from "node:http";
import { setTimeout as sleep } from "node:timers/promises";
import type { FastifyReply } from "fastify";
import type { BufferedResponse, HttpResponse, StreamedResponse } from "./response.ts";

/** Longest wait for the first chunk; a failure during this time is still sent with its own status. */
const maxHeadMilliseconds = 30_000;
const keepAliveMilliseconds = 15_000;

/** Errors before the first chunk are thrown; later ones become the last chunk, and are passed to `onError`. */
export async function send(
  reply: FastifyReply,
  response: HttpResponse,
  onError: (error: unknown) => void,
): Promise<void> {
  if ("chunks" in response) await sendStream(reply, response, onError);
  else sendBuffered(reply, response);
}

export function sendBuffered(reply: FastifyReply, { status, headers, body }: BufferedResponse): void {
  void reply
    .code(status)
    .headers({ ...headers, "x-request-id": reply.request.id })
    .send(body);
}

async function sendStream(
  reply: FastifyReply,
  response: StreamedResponse,
  onError: (error: unknown) => void,
): Promise<void> {
  const chunks = response.chunks[Symbol.asyncIterator]();
  const comments = acceptComments(reply.raw, response);
  const first = chunks.next();
  const late = closedOrTimeout(reply.raw, maxHeadMilliseconds);
  await Promise.race(comments === undefined ? [first, late] : [first, late, comments.arrived]);
  const raw = writeHead(reply, response.status, response.headers);
  raw.flushHeaders();
  comments?.open();
  try {
    await writeChunks(raw, { first, chunks, keepAliveChunk: response.keepAliveChunk });
  } catch (error) {
    if (!raw.destroyed) {
      onError(error);
      raw.write(response.formatError(error));
    }
  }
  raw.end();
}

const commentWriters = new WeakMap<ServerResponse, (text: string) => void>();

/** No effect on a response without comments. */
export function sendComment(raw: ServerResponse, text: string): void {
  commentWriters.get(raw)?.(text);
}

/** Only the last comment before the headers is kept. */
function acceptComments(
  raw: ServerResponse,
  { formatComment }: StreamedResponse,
): { readonly arrived: Promise<void>; open(): void } | undefined {
  if (formatComment === undefined) return undefined;
  const { promise: arrived, resolve } = Promise.withResolvers<void>();
  let early = "";
  let isOpen = false;
  commentWriters.set(raw, (text) => {
    if (!isOpen) early = formatComment(text);
    else if (!raw.destroyed && !raw.writableNeedDrain) raw.write(formatComment(text));
    resolve();
  });
  return {
    arrived,
    open() {
      isOpen = true;
      if (early !== "") raw.write(early);
    },
  };
}

/** Whether a handler takes longer than clients wait for response headers. */
export async function isLate(response: Promise<HttpResponse>, milliseconds: number): Promise<boolean> {
  const settled = new AbortController();
  const { signal } = settled;
  const late = sleep(milliseconds, true, { signal, ref: false }).catch(() => false);
  const inTime = response.then(
    () => false,
    () => false,
  );
  const isOver = await Promise.race([late, inTime]);
  settled.abort();
  return isOver;
}

/**
 * Sends status 200 and the headers of a JSON response now, spaces until the handler finishes, then its body: JSON
 * parsers skip leading white space. An error after that changes the body only, not the status.
 */
export async function sendEarlyHead(
  reply: FastifyReply,
  response: Promise<HttpResponse>,
  toErrorResponse: (error: unknown) => BufferedResponse,
): Promise<void> {
  const raw = writeHead(reply, 200, { "content-type": "application/json; charset=utf-8" });
  raw.write(" ");
  const padding = startKeepAlive(raw, " ");
  try {
    const settled = await response.catch(toErrorResponse);
    if (!raw.destroyed && !("chunks" in settled)) raw.write(settled.body ?? "");
  } finally {
    clearInterval(padding);
    raw.end();
  }
}

/** Takes the response over from Fastify, with the headers that were set on it. */
function writeHead(
  reply: FastifyReply,
  status: number,
  headers: Readonly<Record<string, string>>,
): ServerResponse {
  reply.hijack();
  const { raw } = reply;
  for (const [name, value] of Object.entries(reply.getHeaders())) {
    if (value !== undefined) raw.setHeader(name, value);
  }
  return raw.writeHead(status, {
    ...headers,
    "x-request-id": reply.request.id,
    // A program may be stricter.
    ...(reply.hasHeader("cache-control") ? {} : { "cache-control": "no-cache" }),
    // Tells nginx not to buffer the stream.
    "x-accel-buffering": "no",
  });
}

function startKeepAlive(raw: ServerResponse, chunk: string): NodeJS.Timeout {
  return setInterval(() => {
    if (!raw.destroyed && !raw.writableNeedDrain) raw.write(chunk);
  }, keepAliveMilliseconds);
}

type ChunkSource = Pick<StreamedResponse, "keepAliveChunk"> & {
  readonly first: Promise<IteratorResult<string>>;
  readonly chunks: AsyncIterator<string>;
};

async function writeChunks(
  raw: ServerResponse,
  { first, chunks, keepAliveChunk }: ChunkSource,
): Promise<void> {
  const timer = startKeepAlive(raw, keepAliveChunk);
  try {
    for (let next = await first; next.done !== true; next = await chunks.next()) {
      if (raw.destroyed) {
        await chunks.return?.();
        return;
      }
      if (!raw.write(next.value)) await drainedOrClosed(raw);
      // Refreshing a timer is far cheaper than creating one, and there is a chunk for every token.
      timer.refresh();
    }
  } finally {
    clearInterval(timer);
  }
}

async function drainedOrClosed(raw: ServerResponse): Promise<void> {
  const settled = new AbortController();
  const { signal } = settled;
  try {
    await Promise.race([once(raw, "drain", { signal }), once(raw, "close", { signal })]);
  } finally {
    settled.abort();
  }
}

async function closedOrTimeout(raw: ServerResponse, milliseconds: number): Promise<void> {
  const timeout = new AbortController();
  const timer = setTimeout(() => timeout.abort(), milliseconds);
  await once(raw, "close", { signal: timeout.signal }).catch(() => undefined);
  clearTimeout(timer);
}
