import type { Socket } from "node:net";
import type { FastifyInstance } from "fastify";

/** More than any client sends ahead; a connection with more is closed. */
const maxWaiting = 100;

/**
 * Starts the requests of a connection one after the other. A client may send several without reading a response; Node
 * would start them all at once, and keep all their responses in memory for as long as nothing is read. A connection on
 * which nothing was sent or received for `unreadMilliseconds` is closed, unless a handler is still working: a client that
 * never reads its response would otherwise keep it in memory. Node counts a response that is read slowly as activity.
 */
export function queuePerConnection(server: FastifyInstance, unreadMilliseconds: number): void {
  const queues = new WeakMap<Socket, (() => void)[]>();
  server.addHook("onRequest", ({ raw: { socket } }, reply, start) => {
    const queue = queues.get(socket) ?? [];
    queues.set(socket, queue);
    queue.push(start);
    if (queue.length > maxWaiting) {
      socket.destroy();
      return;
    }
    reply.raw.once("close", () => {
      queue.shift();
      if (!socket.destroyed) queue[0]?.();
    });
    if (queue.length === 1) start();
  });
  server.server.setTimeout(unreadMilliseconds, (socket: Socket) => {
    const isWaitingForHandler = (queues.get(socket)?.length ?? 0) > 0 && socket.writableLength === 0;
    if (isWaitingForHandler) socket.setTimeout(unreadMilliseconds);
    else socket.destroy();
  });
}
