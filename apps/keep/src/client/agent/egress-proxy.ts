/**
 * @module
 * `keep run --agent`: runs a program that sees placeholders instead of secrets, in a sandbox whose only way out is a proxy of
 * ours. Guarantees that a value leaves this process only in a header of a request that the secret's egress rule allows, after
 * the server has recorded the use and, where the rule says so, a person has approved it; that no value is in a response as it
 * is passed on; and that requests to other hosts are refused.
 * Imported by `commands/run.ts`, and only loaded with `--agent`.
 */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { Duplex } from "node:stream";
import { TLSSocket } from "node:tls";
import type { SessionAuthority } from "./certificates.ts";
import { type ForwardDependencies, forwardRequest, refuse } from "./forward-request.ts";

export type EgressProxy = AsyncDisposable & {
  /** Listens on a Unix socket. */
  readonly listen: (socketFile: string) => Promise<void>;
};

export type ProxyDependencies = ForwardDependencies & {
  readonly authority: SessionAuthority;
  /** Hosts to which connections are allowed, with a port unless it is 443. */
  readonly hosts: ReadonlySet<string>;
};

const maxConnections = 256;
const maxHeaderSize = 16 * 1024;
const headersTimeout = 30_000;
const requestTimeout = 300_000;
/** Longer than a host may take for its response. */
const idleTimeout = 600_000;
const limits = { maxHeaderSize, headersTimeout, requestTimeout, insecureHTTPParser: false };

/** Ends TLS of every connection, so that it sees each request. */
export function createEgressProxy(dependencies: ProxyDependencies): EgressProxy {
  const targets = new WeakMap<Duplex, string>();
  const sockets = new Set<Duplex>();
  const inner = createServer(limits, (request, response) => {
    const host = targets.get(request.socket);
    if (host === undefined) return request.socket.destroy();
    return void forwardSafely(request, response, { host, dependencies });
  });
  // Timeouts of requests work only for servers that listen themselves.
  inner.setTimeout(idleTimeout);
  inner.on("upgrade", (_request, socket) =>
    endWith(socket, 403, "Upgrades such as WebSocket are not passed on"),
  );
  const outer = createServer(limits, (_request, response) =>
    refuse(response, 403, "Only HTTPS is passed on"),
  );
  outer.maxConnections = maxConnections;
  outer.on("upgrade", (_request, socket) => endWith(socket, 403, "Only HTTPS is passed on"));
  outer.on("connect", (request, socket, head) => {
    const host = readAuthority(request.url ?? "");
    if (host === undefined || !dependencies.hosts.has(host))
      return endWith(
        socket,
        403,
        `No secret may be used for this host, and it was not allowed: ${host ?? ""}`,
      );
    socket.write("HTTP/1.1 200 Connection established\r\n\r\n");
    socket.unshift(head);
    const secured = secure(socket, { host, authority: dependencies.authority });
    targets.set(secured, host);
    // The name in the handshake must be the one of the connection.
    secured.on("secure", () => {
      if (serverNameOf(secured) === hostnameOf(host)) inner.emit("connection", secured);
      else secured.destroy();
    });
    return undefined;
  });
  outer.on("connection", (socket) => {
    sockets.add(socket);
    socket.on("close", () => sockets.delete(socket));
  });
  return {
    listen: (socketFile) => listen(outer, socketFile),
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => outer.close(resolve));
    },
  };
}

type Forwarded = { readonly host: string; readonly dependencies: ForwardDependencies };

async function forwardSafely(
  request: IncomingMessage,
  response: ServerResponse,
  { host, dependencies }: Forwarded,
): Promise<void> {
  try {
    await forwardRequest(request, response, { host, dependencies });
  } catch {
    // Its message could contain a part of the request; the program learns that there is no response.
    if (response.headersSent) response.destroy();
    else refuse(response, 502, "The host did not respond");
  }
}

function secure(
  socket: Duplex,
  { host, authority }: { readonly host: string; readonly authority: SessionAuthority },
): TLSSocket {
  const secured = new TLSSocket(socket, {
    isServer: true,
    secureContext: authority.contextFor(hostnameOf(host)),
    ALPNProtocols: ["http/1.1"],
  });
  socket.on("error", () => secured.destroy());
  secured.on("error", () => socket.destroy());
  secured.setTimeout(headersTimeout, () => secured.destroy());
  secured.on("secure", () => secured.setTimeout(0));
  return secured;
}

/** What the client named in the handshake. */
function serverNameOf({ servername }: TLSSocket): string | undefined {
  return typeof servername === "string" ? servername.toLowerCase() : undefined;
}

const authorityPattern = /^([a-z0-9](?:[a-z0-9.-]*[a-z0-9])?):([1-9][0-9]{0,4})$/u;

/** As hosts are written in rules: in lower case, without the port 443. */
export function readAuthority(text: string): string | undefined {
  const [, hostname, port] = authorityPattern.exec(text.toLowerCase()) ?? [];
  if (hostname === undefined) return undefined;
  return port === "443" ? hostname : `${hostname}:${port}`;
}

function hostnameOf(host: string): string {
  return host.split(":")[0] ?? "";
}

function endWith(socket: Duplex, status: number, reason: string): void {
  const text = `Keep: ${reason}\n`;
  const head = `HTTP/1.1 ${status} Refused\r\ncontent-type: text/plain\r\ncontent-length: ${Buffer.byteLength(text)}\r\nconnection: close\r\n\r\n`;
  socket.on("error", () => socket.destroy());
  socket.end(head + text);
}

function listen(server: Server, socketFile: string): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  server.once("error", reject);
  server.listen(socketFile, resolve);
  return promise;
}
