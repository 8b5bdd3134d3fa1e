import type { FastifyReply, FastifyRequest } from "fastify";

/** Passed to `toErrorResponse` when the bodies of other requests take up the server's memory for bodies. */
export class BodyBudgetError extends Error {
  override readonly name = "BodyBudgetError";
}

/** Limits the bytes of all bodies that are being received or wait for their response. */
export type BodyBudget = {
  /** Throws when the body may not fit. The bytes are freed by `release` or when the response has ended. */
  reserve(request: FastifyRequest, reply: FastifyReply, maxBodyBytes: number): void;
  /** Frees the bytes of a request whose response has started. */
  release(request: FastifyRequest): void;
};

export function createBodyBudget(maxBytes: number = Number.POSITIVE_INFINITY): BodyBudget {
  const reserved = new Map<FastifyRequest, number>();
  let usedBytes = 0;
  const release = (request: FastifyRequest): void => {
    usedBytes -= reserved.get(request) ?? 0;
    reserved.delete(request);
  };
  return {
    reserve(request, reply, maxBodyBytes) {
      const bytes = largestBody(request, maxBodyBytes);
      if (bytes === 0) return;
      if (usedBytes + bytes > maxBytes) throw new BodyBudgetError("no memory left for another body");
      reserved.set(request, bytes);
      usedBytes += bytes;
      reply.raw.once("close", () => release(request));
    },
    release,
  };
}

/** A body that is chunked or compressed can be as large as its route allows. */
function largestBody({ headers }: FastifyRequest, maxBodyBytes: number): number {
  if (headers["transfer-encoding"] !== undefined || headers["content-encoding"] !== undefined)
    return maxBodyBytes;
  const length = Number(headers["content-length"] ?? 0);
  return Number.isSafeInteger(length) ? Math.min(length, maxBodyBytes) : maxBodyBytes;
}
