/**
 * @module
 * What goes over the wire, byte for byte: probes that official clients and browsers would tidy up, and the sequences
 * of programs that cannot run here. `rows.json` beside it names, for each bug that others have had, the test that
 * shows it is not ours.
 * Nothing imports from here.
 */
import { once } from "node:events";
import { connect } from "node:net";

export type RawConnection = Disposable & {
  send(bytes: string | Uint8Array): void;
  /** Says that nothing more will be sent, and goes on reading. */
  finishSending(): void;
  /** All that came so far. */
  received(): string;
  /** Waits until this stands in what came, and gives all of it. */
  until(text: string | RegExp): Promise<string>;
  /** Waits until the other side has closed, and gives all that came. */
  untilClosed(): Promise<string>;
};

export function openConnection(url: string): RawConnection {
  const { hostname, port } = new URL(url);
  const socket = connect({ host: hostname, port: Number(port), allowHalfOpen: true });
  let received = "";
  socket.on("data", (chunk: Buffer) => {
    received += chunk.toString("latin1");
  });
  // A refusal may reset the connection while the rest of a request is still on its way.
  socket.on("error", () => undefined);
  const ended = once(socket, "end").catch(() => undefined);
  const holds = (text: string | RegExp): boolean =>
    typeof text === "string" ? received.includes(text) : text.test(received);
  return {
    send: (bytes) => void socket.write(bytes),
    finishSending: () => void socket.end(),
    received: () => received,
    until: async (text) => {
      const deadline = AbortSignal.timeout(10_000);
      while (!holds(text)) {
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

/** A request as text, with nothing in it but what is told, its host and the length of its body. */
export function requestText(path: string, { method, headers = [], body }: RequestLines = {}): string {
  const length = body === undefined ? [] : [`content-length: ${Buffer.byteLength(body)}`];
  const first = `${method ?? (body === undefined ? "GET" : "POST")} ${path} HTTP/1.1`;
  return [first, "host: localhost", ...headers, ...length, "", body ?? ""].join("\r\n");
}

export type ChunkedAnswer = { readonly head: string; readonly chunks: readonly string[] };

/** The chunks of a whole answer as their sizes cut them; what does not keep to the format throws. */
export function readChunks(received: string): ChunkedAnswer {
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
