/**
 * @module
 * HTTP byte for byte: requests that official clients and browsers would normalize, and request sequences of programs that
 * cannot run in tests. `rows.json` lists known bugs of other servers with the tests that show Hearth does not have
 * them.
 * Nothing imports from here.
 */
import { once } from "node:events";
import { connect } from "node:net";

export type RawConnection = Disposable & {
  send(bytes: string | Uint8Array): void;
  /** Closes the sending side and continues to read. */
  finishSending(): void;
  /** All data so far. */
  received(): string;
  /** Waits until the data contains this, and returns all of it. */
  until(text: string | RegExp): Promise<string>;
  /** Waits until the server closes, and returns all data. */
  untilClosed(): Promise<string>;
};

export function openConnection(url: string): RawConnection {
  const { hostname, port } = new URL(url);
  const socket = connect({ host: hostname, port: Number(port), allowHalfOpen: true });
  let received = "";
  socket.on("data", (chunk: Buffer) => {
    received += chunk.toString("latin1");
  });
  // An error response may reset the connection while the rest of the request is still being sent.
  socket.on("error", () => undefined);
  const ended = once(socket, "end").catch(() => undefined);
  const contains = (text: string | RegExp): boolean =>
    typeof text === "string" ? received.includes(text) : text.test(received);
  return {
    send: (bytes) => void socket.write(bytes),
    finishSending: () => void socket.end(),
    received: () => received,
    until: async (text) => {
      const deadline = AbortSignal.timeout(10_000);
      while (!contains(text)) {
        if (socket.readableEnded || socket.destroyed)
          throw new Error(`Cannot find "${text}" in "${received}"`);
        await Promise.race([once(socket, "data", { signal: deadline }), once(socket, "close"), ended]);
      }
      return received;
    },
    untilClosed: async () => {
      await ended;
      socket.destroy();
      return received;
    },
    [Symbol.dispose]: () => void socket.destroy(),
  };
}

export type RequestLines = {
  readonly method?: string;
  readonly headers?: readonly string[];
  readonly body?: string;
};

/** A request with only the given headers, Host and Content-Length. */
export function requestText(path: string, { method, headers = [], body }: RequestLines = {}): string {
  const length = body === undefined ? [] : [`content-length: ${Buffer.byteLength(body)}`];
  const first = `${method ?? (body === undefined ? "GET" : "POST")} ${path} HTTP/1.1`;
  return [first, "host: localhost", ...headers, ...length, "", body ?? ""].join("\r\n");
}

export type ChunkedResponse = { readonly head: string; readonly chunks: readonly string[] };

/** The chunks of a complete response; throws if the encoding is invalid. */
export function readChunks(received: string): ChunkedResponse {
  const [head = "", ...rest] = received.split("\r\n\r\n");
  let left = rest.join("\r\n\r\n");
  const chunks: string[] = [];
  for (;;) {
    const size = /^(?<digits>[0-9a-f]+)\r\n/iu.exec(left)?.groups?.["digits"];
    if (size === undefined) throw new Error(`Cannot read a chunk at "${left.slice(0, 40)}"`);
    const start = size.length + 2;
    const end = start + Number.parseInt(size, 16);
    if (left.slice(end, end + 2) !== "\r\n") throw new Error(`Cannot find the end of a chunk of ${size}`);
    if (end === start) return { head: head.toLowerCase(), chunks };
    chunks.push(left.slice(start, end));
    left = left.slice(end + 2);
  }
}
