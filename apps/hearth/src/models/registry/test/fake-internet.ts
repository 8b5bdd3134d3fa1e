/**
 * @module
 * A fake internet for tests of outbound requests: in a network namespace where every address is local, it resolves
 * names from a table and records the destination address of every connection.
 * Imported by test programs that run inside such a namespace.
 */
import { once } from "node:events";
import { readFile } from "node:fs/promises";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import { createServer as createSecureServer } from "node:https";
import type { Socket } from "node:net";
import { type FakeNames, serveFakeNames } from "./fake-dns.ts";

/** One case of the reviewed file: exactly one of `url`, `redirects`, `realm` and `location`. */
export type AddressCase = {
  readonly why: string;
  readonly url?: string;
  /** Targets of consecutive redirects; the last one repeats. */
  readonly redirects?: readonly string[];
  readonly realm?: string;
  /** The location of a blob according to the registry. */
  readonly location?: string;
  /** The host that redirects first; `https://registry.test.example` by default. */
  readonly start?: string;
  readonly registry?: string;
  readonly status?: number;
  readonly insecure?: boolean;
  /** For the host of `url`, or for `resolvedName`. */
  readonly resolvesTo?: readonly string[];
  readonly laterResolvesTo?: readonly (readonly string[])[];
  readonly resolvedName?: string;
  readonly attempts?: number;
  /** Requested first by the same client, so that its connection is kept alive. */
  readonly after?: string;
  /** Hostile cases: addresses that may be connected to. */
  readonly mayReach?: readonly string[];
  readonly mayRespond?: boolean;
  /** Good cases: the address that must respond. */
  readonly reaches?: string;
};

export type AddressFile = {
  readonly names: Readonly<Record<string, readonly string[]>>;
  readonly privateHosts: readonly string[];
  readonly plainPorts: readonly number[];
  readonly securePorts: readonly number[];
  readonly hostile: readonly AddressCase[];
  readonly good: readonly AddressCase[];
};

export type FakeInternet = AsyncDisposable & {
  /** Sets the redirects, the realm and the names of this case. */
  configure(current: AddressCase): void;
  /** Destinations of all connections since the last call, e.g. `127.0.0.1:443`. */
  takeConnections(): readonly string[];
};

type RequestHandler = (request: IncomingMessage, response: ServerResponse) => void;

const goodToken = "good-token";

export async function startFakeInternet(file: AddressFile): Promise<FakeInternet> {
  const names: FakeNames = new Map();
  await using stack = new AsyncDisposableStack();
  stack.use(await serveFakeNames(names));
  const connections: string[] = [];
  let handler: RequestHandler | undefined;
  const listener: RequestHandler = (request, response) => handler?.(request, response);
  const key = await readFile(new URL("../fixtures/fake-internet-key.pem", import.meta.url), "utf8");
  const cert = await readFile(new URL("../fixtures/fake-internet-certificate.pem", import.meta.url), "utf8");
  const listeners = [
    ...file.plainPorts.map((port) => ({ port, server: createServer(listener) })),
    ...file.securePorts.map((port) => ({ port, server: createSecureServer({ key, cert }, listener) })),
  ];
  for (const { port, server } of listeners) {
    server.on("connection", (socket: Socket) => void connections.push(destinationOf(socket)));
    stack.use(await listen(server, port));
  }
  const servers = stack.move();
  return {
    takeConnections: () => connections.splice(0),
    configure(current) {
      names.clear();
      for (const [name, addresses] of Object.entries(file.names)) names.set(name, [addresses]);
      if (current.resolvesTo !== undefined) {
        const name = current.resolvedName ?? URL.parse(current.url ?? "")?.hostname ?? "";
        names.set(name, [current.resolvesTo, ...(current.laterResolvesTo ?? [])]);
      }
      handler = createHandler(current);
    },
    [Symbol.asyncDispose]: () => servers.disposeAsync(),
  };
}

function destinationOf({ localAddress = "", localPort }: Socket): string {
  return `${localAddress.replace(/^::ffff:(?=\d+\.)/u, "")}:${localPort}`;
}

function createHandler(current: AddressCase): RequestHandler {
  const { redirects = [], realm = "", status = 302 } = current;
  let step = 0;
  return (request, response) => {
    const { pathname, searchParams } = new URL(request.url ?? "/", "http://fake.test.example");
    const { authorization } = request.headers;
    const send = (code: number, headers: Record<string, string>, body: unknown): void =>
      void response
        .writeHead(code, { "content-type": "application/json", ...headers })
        .end(JSON.stringify(body));
    if (pathname === "/token") send(200, {}, { token: goodToken });
    else if (pathname === "/away") send(302, { location: searchParams.get("to") ?? "" }, {});
    else if (pathname === "/begin" || pathname === "/next") {
      send(status, { location: encode(redirects[Math.min(step, redirects.length - 1)] ?? "") }, {});
      step += 1;
    } else if (pathname.startsWith("/v2/") && authorization !== `Bearer ${goodToken}`) {
      send(
        401,
        { "www-authenticate": `Bearer realm="${encode(realm).replaceAll("\\", "\\\\")}",service="fake"` },
        {},
      );
    } else send(200, {}, { at: destinationOf(request.socket), authorization });
  };
}

/** Header values are bytes; characters beyond ASCII are sent as UTF-8. */
function encode(text: string): string {
  return Buffer.from(text).toString("latin1");
}

async function listen(server: Server, port: number): Promise<AsyncDisposable> {
  server.listen(port, "::");
  await once(server, "listening");
  return {
    async [Symbol.asyncDispose]() {
      server.close();
      server.closeAllConnections();
      await once(server, "close");
    },
  };
}
