/**
 * @module
 * A world of our own for outbound requests: in a network namespace where every address is this machine, names mean
 * what the table says, and whoever connects anywhere is written down with the address that was dialled.
 * Imported by the tests of `registry/` only, inside such a namespace.
 */
import { once } from "node:events";
import { readFile } from "node:fs/promises";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import { createServer as createSecureServer } from "node:https";
import type { Socket } from "node:net";
import { type ForgedNames, serveForgedNames } from "./forged-names.ts";

/** One line of the reviewed file: exactly one of `url`, `redirects`, `realm` and `location`. */
export type AddressCase = {
  readonly why: string;
  readonly url?: string;
  /** Where the registry and those after it redirect to, in order; the last one again and again. */
  readonly redirects?: readonly string[];
  readonly realm?: string;
  /** Where a registry says that a blob lies. */
  readonly location?: string;
  /** Who redirects first, or whose realm it is; `https://registry.test.example` unless told. */
  readonly start?: string;
  readonly registry?: string;
  readonly status?: number;
  readonly insecure?: boolean;
  /** For the host of `url`, or for `resolvedName`. */
  readonly resolvesTo?: readonly string[];
  readonly laterResolvesTo?: readonly (readonly string[])[];
  readonly resolvedName?: string;
  readonly asks?: number;
  /** Asked for before by the same client, so that a connection to it was kept. */
  readonly after?: string;
  /** Of a hostile one: these are no canaries. */
  readonly mayReach?: readonly string[];
  readonly mayAnswer?: boolean;
  /** Of a good one. */
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

export type ForgedWorld = AsyncDisposable & {
  /** From now on redirects, realms and names are those of this case. */
  stage(current: AddressCase): void;
  /** Whom anybody connected to since this was last asked, as `127.0.0.1:443`. */
  takeConnections(): readonly string[];
};

type Answer = (request: IncomingMessage, response: ServerResponse) => void;

const goodToken = "good-token";

export async function startForgedWorld(file: AddressFile): Promise<ForgedWorld> {
  const names: ForgedNames = new Map();
  await using parts = new AsyncDisposableStack();
  parts.use(await serveForgedNames(names));
  const connections: string[] = [];
  let answer: Answer | undefined;
  const listener: Answer = (request, response) => answer?.(request, response);
  const key = await readFile(new URL("../fixtures/world-key.pem", import.meta.url), "utf8");
  const cert = await readFile(new URL("../fixtures/world-certificate.pem", import.meta.url), "utf8");
  const servers = [
    ...file.plainPorts.map((port) => ({ port, server: createServer(listener) })),
    ...file.securePorts.map((port) => ({ port, server: createSecureServer({ key, cert }, listener) })),
  ];
  for (const { port, server } of servers) {
    server.on("connection", (socket: Socket) => void connections.push(dialled(socket)));
    parts.use(await listen(server, port));
  }
  const kept = parts.move();
  return {
    takeConnections: () => connections.splice(0),
    stage(current) {
      names.clear();
      for (const [name, addresses] of Object.entries(file.names)) names.set(name, [addresses]);
      if (current.resolvesTo !== undefined) {
        const name = current.resolvedName ?? URL.parse(current.url ?? "")?.hostname ?? "";
        names.set(name, [current.resolvesTo, ...(current.laterResolvesTo ?? [])]);
      }
      answer = answerFor(current);
    },
    [Symbol.asyncDispose]: () => kept.disposeAsync(),
  };
}

function dialled({ localAddress = "", localPort }: Socket): string {
  return `${localAddress.replace(/^::ffff:(?=\d+\.)/u, "")}:${localPort}`;
}

function answerFor(current: AddressCase): Answer {
  const { redirects = [], realm = "", status = 302 } = current;
  let step = 0;
  return (request, response) => {
    const { pathname, searchParams } = new URL(request.url ?? "/", "http://world.test.example");
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
        { "www-authenticate": `Bearer realm="${encode(realm).replaceAll("\\", "\\\\")}",service="world"` },
        {},
      );
    } else send(200, {}, { at: dialled(request.socket), authorization });
  };
}

/** A header holds bytes; what is beyond ASCII goes as UTF-8. */
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
