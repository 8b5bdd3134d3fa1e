import { connect, type Socket } from "node:net";
import { json } from "node:stream/consumers";

/**
 * Asks one server for so many seconds over so many connections, one request at a time on each, and prints what it saw as
 * one line of JSON. A process of its own, and as little work as possible for each answer, so that the server is measured
 * and not this. What to ask comes over its standard input:
 * `{"port":…,"paths":[…],"authorization":"…","connections":16,"seconds":3}`.
 */
type Plan = {
  readonly port: number;
  readonly paths: readonly string[];
  readonly authorization?: string;
  readonly connections: number;
  readonly seconds: number;
};

// Given by whoever starts this.
const plan = (await json(process.stdin)) as Plan;
const milliseconds: number[] = [];
let refused = 0;
let refusal: string | undefined;
const endsAt = performance.now() + plan.seconds * 1000;

function requestFor(path: string): string {
  const authorization = plan.authorization === undefined ? "" : `authorization: ${plan.authorization}\r\n`;
  return `GET ${path} HTTP/1.1\r\nhost: 127.0.0.1:${plan.port}\r\n${authorization}\r\n`;
}

const requests = plan.paths.map(requestFor);

function nextRequest(): string {
  return requests[Math.floor(Math.random() * requests.length)] ?? "";
}

/** How long the answer at the beginning of this text is; undefined while it is not whole. */
function lengthOfAnswer(text: string): number | undefined {
  const headEnd = text.indexOf("\r\n\r\n");
  if (headEnd === -1) return undefined;
  const body = Number(/content-length: (\d+)/iu.exec(text.slice(0, headEnd))?.[1] ?? 0);
  const whole = headEnd + 4 + body;
  return text.length >= whole ? whole : undefined;
}

function keepAsking(socket: Socket): Promise<void> {
  return new Promise((resolve, reject) => {
    let text = "";
    let startedAt = performance.now();
    socket.setEncoding("latin1");
    socket.on("error", reject);
    socket.on("data", (part: string) => {
      text += part;
      const length = lengthOfAnswer(text);
      if (length === undefined) return;
      if (!text.startsWith("HTTP/1.1 200")) {
        refused += 1;
        refusal ??= text.slice(0, length);
      }
      text = text.slice(length);
      const now = performance.now();
      milliseconds.push(now - startedAt);
      if (now >= endsAt) {
        socket.end();
        resolve();
        return;
      }
      startedAt = now;
      socket.write(nextRequest());
    });
    socket.write(nextRequest());
  });
}

const sockets = await Promise.all(
  Array.from(
    { length: plan.connections },
    () =>
      new Promise<Socket>((resolve, reject) => {
        const socket = connect({ port: plan.port, host: "127.0.0.1", noDelay: true });
        socket.once("connect", () => resolve(socket)).once("error", reject);
      }),
  ),
);
const startedAt = performance.now();
await Promise.all(sockets.map(keepAsking));
const seconds = (performance.now() - startedAt) / 1000;
const sorted = milliseconds.toSorted((one, other) => one - other);
const at = (share: number): number => sorted[Math.floor(sorted.length * share)] ?? 0;
process.stdout.write(
  `${JSON.stringify({ answers: sorted.length, refused, refusal, perSecond: sorted.length / seconds, p50: at(0.5), p99: at(0.99) })}\n`,
);
