import { connect, type Socket } from "node:net";
import { json } from "node:stream/consumers";

/**
 * Sends requests to one server over several connections, one request at a time on each, and prints the result as one
 * line of JSON. It runs in its own process and does as little work per response as possible, so that the server is
 * measured and not the client. The plan is read from standard input:
 * `{"port":…,"paths":[…],"authorization":"…","connections":16,"seconds":3}`. With a `body`, JSON, requests are PUT.
 */
type Plan = {
  readonly port: number;
  readonly paths: readonly string[];
  readonly authorization?: string;
  readonly body?: string;
  readonly connections: number;
  readonly seconds: number;
};

// Written by the parent process.
const plan = (await json(process.stdin)) as Plan;
const milliseconds: number[] = [];
let refused = 0;
let refusal: string | undefined;
const endsAt = performance.now() + plan.seconds * 1000;

function requestFor(path: string): string {
  const { port, authorization, body } = plan;
  const method = body === undefined ? "GET" : "PUT";
  const lines = [
    `${method} ${path} HTTP/1.1`,
    `host: 127.0.0.1:${port}`,
    ...(authorization === undefined ? [] : [`authorization: ${authorization}`]),
    ...(body === undefined ? [] : ["content-type: application/json", `content-length: ${body.length}`]),
  ];
  return `${lines.join("\r\n")}\r\n\r\n${body ?? ""}`;
}

const requests = plan.paths.map(requestFor);

function nextRequest(): string {
  return requests[Math.floor(Math.random() * requests.length)] ?? "";
}

/** The length of the first response in the text; undefined while it is incomplete. */
function responseLength(text: string): number | undefined {
  const headEnd = text.indexOf("\r\n\r\n");
  if (headEnd === -1) return undefined;
  const body = Number(/content-length: (\d+)/iu.exec(text.slice(0, headEnd))?.[1] ?? 0);
  const total = headEnd + 4 + body;
  return text.length >= total ? total : undefined;
}

function sendRequests(socket: Socket): Promise<void> {
  return new Promise((resolve, reject) => {
    let text = "";
    let startedAt = performance.now();
    socket.setEncoding("latin1");
    socket.on("error", reject);
    socket.on("data", (chunk: string) => {
      text += chunk;
      const length = responseLength(text);
      if (length === undefined) return;
      if (!text.startsWith("HTTP/1.1 20")) {
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
await Promise.all(sockets.map(sendRequests));
const seconds = (performance.now() - startedAt) / 1000;
const sorted = milliseconds.toSorted((one, other) => one - other);
const at = (share: number): number => sorted[Math.floor(sorted.length * share)] ?? 0;
process.stdout.write(
  `${JSON.stringify({ answers: sorted.length, refused, refusal, perSecond: sorted.length / seconds, p50: at(0.5), p99: at(0.99) })}\n`,
);
