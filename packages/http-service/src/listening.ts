import type { AddressInfo } from "node:net";
import type { FastifyInstance } from "fastify";

export type Place = { readonly host: string; readonly port: number };

/** The address cannot be had, for a reason the person who started us can do something about. */
export class AddressError extends Error {
  readonly reason: "taken" | "unusable";
  readonly host: string;
  readonly port: number;

  constructor(reason: "taken" | "unusable", place: Place, options?: ErrorOptions) {
    super(`address ${reason}`, options);
    this.name = "AddressError";
    this.reason = reason;
    this.host = place.host;
    this.port = place.port;
  }
}

export async function listen(
  server: FastifyInstance,
  place: Place,
  scheme: "http" | "https",
): Promise<{ readonly url: string }> {
  try {
    await server.listen({ host: place.host, port: place.port });
  } catch (problem) {
    throw nameAddressProblem(problem, place);
  }
  // A server that listens on TCP has an AddressInfo, never a pipe name.
  const { port } = server.server.address() as AddressInfo;
  const host = place.host.includes(":") ? `[${place.host}]` : place.host;
  return { url: `${scheme}://${host}:${port}` };
}

function nameAddressProblem(problem: unknown, place: Place): unknown {
  const code = problem instanceof Error && "code" in problem ? String(problem.code) : "";
  if (code === "EADDRINUSE") return new AddressError("taken", place, { cause: problem });
  const isUnusable = ["EADDRNOTAVAIL", "EACCES", "ENOTFOUND", "EAI_AGAIN", "EINVAL"].includes(code);
  return isUnusable ? new AddressError("unusable", place, { cause: problem }) : problem;
}

/** Running requests finish for a while, then what is left is cut. */
export async function close(server: FastifyInstance, graceSeconds: number): Promise<void> {
  const impatience = setTimeout(() => server.server.closeAllConnections(), graceSeconds * 1000);
  try {
    await server.close();
  } finally {
    clearTimeout(impatience);
  }
}
