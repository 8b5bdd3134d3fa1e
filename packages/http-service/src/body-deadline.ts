import type { FastifyReply, FastifyRequest } from "fastify";
import { answerUnreadable } from "./answer-unreadable.ts";

/**
 * Ends a request whose body is not whole in time, also after its answer left: a caller who sends a byte a minute
 * would hold its connection for ever. Node's own deadline knows no rows, and uploads take longer than any other body.
 */
export function endLateBody({ raw }: FastifyRequest, reply: FastifyReply, milliseconds: number): void {
  // Without either header there is no body to wait for.
  if (raw.headers["content-length"] === undefined && raw.headers["transfer-encoding"] === undefined) return;
  const deadline = setTimeout(() => {
    if (raw.complete) return;
    const late = Object.assign(new Error("body too late"), { code: "ERR_HTTP_REQUEST_TIMEOUT" });
    answerUnreadable(late, raw.socket);
  }, milliseconds).unref();
  reply.raw.once("close", () => {
    if (raw.complete || raw.socket.destroyed) clearTimeout(deadline);
  });
}
