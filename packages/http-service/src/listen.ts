import type { AddressInfo } from "node:net";
import type { FastifyInstance } from "fastify";

export type ListenAddress = { readonly host: string; readonly port: number };

/** The server cannot listen on this address, for a reason that its operator can fix. */
export class AddressError extends Error {
  override readonly name = "AddressError";
  readonly reason: "in-use" | "unavailable";
  readonly host: string;
  readonly port: number;

  constructor(reason: AddressError["reason"], { host, port }: ListenAddress, options?: ErrorOptions) {
    super(`address ${reason}`, options);
    this.reason = reason;
    this.host = host;
    this.port = port;
  }
}

/**
 * How many connections may wait to be accepted; the kernel has its own limit. A client whose connection found no place
 * believes that it is connected, and the kernel tries again only after one, three and seven seconds.
 */
const maxPendingConnections = 4096;

export async function listen(
  server: FastifyInstance,
  address: ListenAddress,
  scheme: "http" | "https",
): Promise<{ readonly url: string }> {
  try {
    await server.listen({ ...address, backlog: maxPendingConnections });
  } catch (error) {
    throw toAddressError(error, address);
  }
  // A server that listens on TCP has an AddressInfo, never a pipe name.
  const { port } = server.server.address() as AddressInfo;
  const host = address.host.includes(":") ? `[${address.host}]` : address.host;
  return { url: `${scheme}://${host}:${port}` };
}

function toAddressError(error: unknown, address: ListenAddress): unknown {
  const code = error instanceof Error && "code" in error ? String(error.code) : "";
  if (code === "EADDRINUSE") return new AddressError("in-use", address, { cause: error });
  const isUnavailable = ["EADDRNOTAVAIL", "EACCES", "ENOTFOUND", "EAI_AGAIN", "EINVAL"].includes(code);
  return isUnavailable ? new AddressError("unavailable", address, { cause: error }) : error;
}

/** Waits for running requests, and closes their connections after the grace period. */
export async function close(server: FastifyInstance, graceSeconds: number): Promise<void> {
  const timer = setTimeout(() => server.server.closeAllConnections(), graceSeconds * 1000);
  try {
    await server.close();
  } finally {
    clearTimeout(timer);
  }
}
