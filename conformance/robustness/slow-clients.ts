import { connect, type Socket } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";

export const slowKinds = ["idle", "slow headers", "slow body", "slow reader"] as const;
export type SlowKind = (typeof slowKinds)[number];
export type SlowCounts = Readonly<Record<SlowKind, number>>;

/** How often each client sends its next byte. */
const secondsPerByte = 2;
const ticksPerSecond = 50;
/** Connections that the server has not accepted yet wait in the kernel, which drops those beyond its limit. */
const wave = 500;
const waveMilliseconds = 50;
const head = "POST /api/generate HTTP/1.1\r\nHost: localhost\r\n";
/** More than the buffers of the kernel hold for a connection that is not read, which is about 3 MB. */
const unreadBytes = 6_000_000;

/** What a client sends first, and then again and again; an idle one sends nothing at all. */
type Messages = Readonly<Record<SlowKind, { readonly first: string; readonly next: string }>>;

/** Slow readers request a static file so often that its copies do not fit into the buffers. */
function createMessages({ path, bytes }: StaticFile): Messages {
  const copies = Math.ceil(unreadBytes / bytes);
  return {
    idle: { first: "", next: "" },
    "slow headers": { first: `${head}X-Slow: `, next: "a" },
    "slow body": { first: `${head}Content-Length: 100000\r\n\r\n{"model":"`, next: "a" },
    "slow reader": { first: `GET ${path} HTTP/1.1\r\nHost: localhost\r\n\r\n`.repeat(copies), next: "" },
  };
}

type StaticFile = { readonly path: string; readonly bytes: number };

/** The script of the web UI, the largest file that the server keeps in memory. */
async function findLargeFile(url: string): Promise<StaticFile> {
  const [, path = ""] = /src="([^"]+)"/u.exec(await (await fetch(`${url}/ui/`)).text()) ?? [];
  const bytes = (await (await fetch(`${url}${path}`)).arrayBuffer()).byteLength;
  return { path, bytes };
}

type SlowClient = {
  readonly kind: SlowKind;
  readonly socket: Socket;
  readonly openedAt: number;
  closedAt: number | undefined;
  /** The beginning of what it received; a slow reader reads nothing. */
  received: string;
};

/** Connections that take as long as they can. */
export class SlowClients implements Disposable {
  readonly #clients: SlowClient[] = [];
  readonly #messages: Messages;
  readonly #timer: NodeJS.Timeout;
  #tick = 0;

  /** Opens them in waves that the kernel has room for, and resolves when all are connected. */
  static async open(url: string, counts: SlowCounts): Promise<SlowClients> {
    const opened = new SlowClients(createMessages(await findLargeFile(url)));
    const { hostname, port } = new URL(url);
    const kinds = slowKinds.flatMap((kind) => Array.from({ length: counts[kind] }, () => kind));
    for (let start = 0; start < kinds.length; start += wave) {
      const next = kinds.slice(start, start + wave);
      await Promise.all(next.map((kind) => opened.#connect(kind, { hostname, port })));
      await sleep(waveMilliseconds);
    }
    return opened;
  }

  private constructor(messages: Messages) {
    this.#messages = messages;
    this.#timer = setInterval(() => this.#sendNextBytes(), 1000 / ticksPerSecond);
  }

  countOpen(kind: SlowKind): number {
    return this.#of(kind).filter(({ closedAt }) => closedAt === undefined).length;
  }

  /** Seconds until the server closed each connection that it has closed. */
  secondsOpen(kind: SlowKind): readonly number[] {
    return this.#of(kind).flatMap(({ openedAt, closedAt }) =>
      closedAt === undefined ? [] : [(closedAt - openedAt) / 1000],
    );
  }

  /** Every status line that clients of this kind received. */
  statusLines(kind: SlowKind): readonly string[] {
    return [...new Set(this.#of(kind).map(({ received }) => received.split("\r\n", 1)[0] ?? ""))];
  }

  [Symbol.dispose](): void {
    clearInterval(this.#timer);
    for (const { socket } of this.#clients) socket.destroy();
  }

  #of(kind: SlowKind): readonly SlowClient[] {
    return this.#clients.filter((client) => client.kind === kind);
  }

  #connect(kind: SlowKind, { hostname, port }: Pick<URL, "hostname" | "port">): Promise<void> {
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const socket = connect(Number(port), hostname);
    const client: SlowClient = {
      kind,
      socket,
      openedAt: performance.now(),
      closedAt: undefined,
      received: "",
    };
    socket.once("connect", () => {
      socket.write(this.#messages[kind].first);
      resolve();
    });
    // The server may reset a connection while a byte is on its way; only a client that never connected has failed.
    socket.on("error", reject);
    socket.once("close", () => {
      client.closedAt = performance.now();
    });
    if (kind !== "slow reader") {
      socket.on("data", (chunk: Buffer) => {
        client.received = (client.received + chunk.toString("latin1")).slice(0, 100);
      });
    }
    this.#clients.push(client);
    return promise;
  }

  /** A part of the clients at a time, so that this process is never busy for long. */
  #sendNextBytes(): void {
    const step = secondsPerByte * ticksPerSecond;
    for (let index = this.#tick % step; index < this.#clients.length; index += step) {
      const client = this.#clients[index];
      if (client === undefined || client.closedAt !== undefined || client.socket.connecting) continue;
      client.socket.write(this.#messages[client.kind].next);
    }
    this.#tick += 1;
  }
}
