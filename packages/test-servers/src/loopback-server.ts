import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { listenOnLoopback } from "./loopback-port.ts";

export type RequestHandler = (request: IncomingMessage, response: ServerResponse) => Promise<void> | void;

export type LoopbackServer = AsyncDisposable & { readonly origin: string; readonly port: number };

/** Serves until the scope ends, which closes every connection, idle or busy. */
export async function serveOnLoopback(handle: RequestHandler): Promise<LoopbackServer> {
  const server = createServer((request, response) => void handleSafely(handle, { request, response }));
  const port = await listenOnLoopback(server);
  let closed: Promise<unknown> | undefined;
  return {
    origin: `http://127.0.0.1:${port}`,
    port,
    async [Symbol.asyncDispose]() {
      if (closed === undefined) {
        closed = once(server, "close");
        server.close();
        server.closeAllConnections();
      }
      await closed;
    },
  };
}

async function handleSafely(
  handle: RequestHandler,
  { request, response }: { request: IncomingMessage; response: ServerResponse },
): Promise<void> {
  try {
    await handle(request, response);
  } catch (error) {
    if (!response.headersSent) response.writeHead(500, { "content-type": "text/plain; charset=utf-8" });
    response.end(String(error));
  }
}
