import type { Socket } from "node:net";
import type { FastifyReply, FastifyRequest } from "fastify";

const statusLines: Readonly<Record<string, string>> = {
  HPE_HEADER_OVERFLOW: "431 Request Header Fields Too Large",
  ERR_HTTP_REQUEST_TIMEOUT: "408 Request Timeout",
};

/** Sends a bare status and closes: a request that cannot be parsed has no path, so no row formats its error. */
export function rejectClientError(error: Error & { readonly code?: string }, socket: Socket): void {
  if (error.code === "ECONNRESET" || !socket.writable) {
    socket.destroy();
    return;
  }
  const statusLine = statusLines[error.code ?? ""] ?? "400 Bad Request";
  socket.end(`HTTP/1.1 ${statusLine}\r\nconnection: close\r\ncontent-length: 0\r\n\r\n`);
}

const checkMilliseconds = 5000;
/** A body of which nothing arrives for this many checks is given up. */
const maxIdleChecks = 3;

/**
 * Closes the connection of a request whose body is not complete in time, or of which nothing arrives for fifteen seconds,
 * even after its response was sent: a client that sends a byte a minute would hold the connection open. Node's
 * `requestTimeout` is the same for every route, but uploads take longer than any other body.
 */
export function enforceBodyDeadline(
  { raw }: FastifyRequest,
  reply: FastifyReply,
  milliseconds: number,
): void {
  // Without either header there is no body.
  if (raw.headers["content-length"] === undefined && raw.headers["transfer-encoding"] === undefined) return;
  const { socket } = raw;
  const interval = Math.min(checkMilliseconds, milliseconds);
  let { bytesRead } = socket;
  let checks = 0;
  let idleChecks = 0;
  const check = (): void => {
    checks += 1;
    idleChecks = socket.bytesRead === bytesRead ? idleChecks + 1 : 0;
    ({ bytesRead } = socket);
    if (raw.complete || socket.destroyed) clearInterval(timer);
    else if (idleChecks >= maxIdleChecks || checks * interval >= milliseconds) {
      clearInterval(timer);
      const timeout = Object.assign(new Error("request body timed out"), {
        code: "ERR_HTTP_REQUEST_TIMEOUT",
      });
      rejectClientError(timeout, socket);
    }
  };
  const timer = setInterval(check, interval).unref();
  reply.raw.once("close", () => {
    if (raw.complete || socket.destroyed) clearInterval(timer);
  });
}
