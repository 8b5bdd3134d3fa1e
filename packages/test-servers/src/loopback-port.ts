import { once } from "node:events";
import type { AddressInfo, Server } from "node:net";
import { createServer } from "node:net";

/**
 * A currently free port, for programs that do not support port 0.
 * Another process may take it before the caller does, so callers retry on "address in use".
 */
export async function findFreePort(): Promise<number> {
  const probe = createServer();
  const port = await listenOnLoopback(probe);
  probe.close();
  await once(probe, "close");
  return port;
}

export async function listenOnLoopback(server: Server): Promise<number> {
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  // A listening TCP server has an AddressInfo, never a pipe name.
  return (server.address() as AddressInfo).port;
}
