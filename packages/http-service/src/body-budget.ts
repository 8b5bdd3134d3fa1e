import { type Readable, Transform } from "node:stream";
import type { FastifyReply, FastifyRequest } from "fastify";

/** Passed to `toErrorResponse` when the bodies of other requests take up the server's memory for bodies. */
export class BodyBudgetError extends Error {
  override readonly name = "BodyBudgetError";
}

/** Bodies up to this size always fit: large ones must not keep others from sending a few lines. */
const freeBytes = 256 * 1024;

/** Limits the bytes of all large bodies that have been received and wait for their response. */
export type BodyBudget = {
  /** Returns the body with its bytes counted as they arrive: an announced body that never comes takes nothing. */
  count(request: FastifyRequest, reply: FastifyReply, body: Readable): Readable;
  /** Counts bytes of a request, e.g. those of its decompressed body. Throws BodyBudgetError when they do not fit. */
  readonly add: (request: FastifyRequest, bytes: number) => void;
  /** Frees the bytes of a request whose response has started. */
  release(request: FastifyRequest): void;
};

/** Undefined without a limit. */
export function createBodyBudget(maxBytes: number | undefined): BodyBudget | undefined {
  if (maxBytes === undefined) return undefined;
  const bytesOf = new WeakMap<FastifyRequest, number>();
  let usedBytes = 0;
  const add = (request: FastifyRequest, bytes: number): void => {
    const before = bytesOf.get(request) ?? 0;
    const added = countable(before + bytes) - countable(before);
    if (usedBytes + added > maxBytes) throw new BodyBudgetError("no memory left for another body");
    bytesOf.set(request, before + bytes);
    usedBytes += added;
  };
  const release = (request: FastifyRequest): void => {
    usedBytes -= countable(bytesOf.get(request) ?? 0);
    bytesOf.delete(request);
  };
  return {
    count(request, reply, body) {
      if (!mayBeLarge(request)) return body;
      reply.raw.once("close", () => release(request));
      return countBytes(body, (bytes) => add(request, bytes));
    },
    add,
    release,
  };
}

/** A chunked body has no length. */
function mayBeLarge({ headers }: FastifyRequest): boolean {
  return headers["transfer-encoding"] !== undefined || Number(headers["content-length"] ?? 0) > freeBytes;
}

function countable(bytes: number): number {
  return bytes > freeBytes ? bytes : 0;
}

/** Not a pipeline, which would close the connection before the error response is sent. */
function countBytes(body: Readable, add: (bytes: number) => void): Readable {
  const counted = new Transform({
    transform(chunk: Buffer, _encoding, done) {
      try {
        add(chunk.length);
        done(null, chunk);
      } catch (error) {
        // `add` throws errors only.
        done(error as Error);
      }
    },
  });
  body.once("error", (error) => counted.destroy(error));
  return body.pipe(counted);
}
