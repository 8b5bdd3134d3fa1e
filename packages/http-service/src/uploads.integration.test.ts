import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { setTimeout as pause } from "node:timers/promises";
import { expect, onTestFinished, test, vi } from "vitest";
import {
  BodyError,
  createHttpService,
  type HttpRequest,
  jsonResponse,
  streamBody,
  textResponse,
} from "./index.ts";

const maxBytes = 64 * 1024 * 1024;
const deadlineMilliseconds = 400;

/** `/bytes` counts the bytes, `/slow` reads a chunk and pauses, `/json` is an ordinary row. */
async function startService(bodyMilliseconds = deadlineMilliseconds) {
  const ends: string[] = [];
  const limits = { maxBytes, idleSeconds: 0.3 };
  const count = async (request: HttpRequest) => {
    let bytes = 0;
    for await (const chunk of streamBody(request, limits)) bytes += chunk.length;
    return jsonResponse({ bytes });
  };
  const readOne = async (request: HttpRequest) => {
    for await (const chunk of streamBody(request, limits)) if (chunk.length > 0) await pause(600);
    return textResponse("done");
  };
  const service = createHttpService({
    routes: [
      { method: "POST", path: "/bytes", body: "stream", handle: count },
      { method: "HEAD", path: "/bytes", handle: () => ({ status: 204 }) },
      { method: "POST", path: "/slow", body: "stream", handle: readOne },
      { method: "POST", path: "/json", handle: () => textResponse("json") },
    ],
    toErrorResponse: (error) => {
      ends.push(error instanceof BodyError ? error.reason : "other");
      return jsonResponse({ error: ends.at(-1) }, 400);
    },
    dependencies: undefined,
    authenticate: () => undefined,
    recordRequest: () => undefined,
    maxBodyBytes: 1000,
    bodyMilliseconds,
  });
  const { url } = await service.listen({ host: "127.0.0.1", port: 0 });
  return { url, ends, [Symbol.asyncDispose]: () => service.close(0.2) };
}

/** A request whose body the test sends by itself. */
function begin(url: string, path: string, length: number): { socket: Socket; received: () => string } {
  const socket = connect(Number(new URL(url).port), "127.0.0.1");
  let received = "";
  socket.on("data", (chunk: Buffer) => {
    received += chunk.toString("latin1");
  });
  socket.on("error", () => undefined);
  socket.write(
    `POST ${path} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\ncontent-length: ${length}\r\n\r\n`,
  );
  return { socket, received: () => received };
}

test("uploads may take longer than the body deadline; other late bodies get status 408", async () => {
  await using server = await startService();
  for (const [path, answer] of [
    ["/bytes", '{"bytes":6}'],
    ["/json", "408 Request Timeout"],
  ] as const) {
    const { socket, received } = begin(server.url, path, 6);
    for (let sent = 0; sent < 6 && socket.writable; sent += 1) {
      socket.write("1");
      await pause(deadlineMilliseconds / 3);
    }
    if (!socket.closed) await once(socket, "close");
    expect(received()).toContain(answer);
  }
});

test("an upload that stalls is cut off, one that waits for a slow handler is not", async () => {
  await using server = await startService();
  const { socket } = begin(server.url, "/bytes", 6);
  socket.write("1");
  await once(socket, "close");
  expect(server.ends).toEqual(["cut-off"]);
  const patient = begin(server.url, "/slow", 2);
  patient.socket.write("12");
  await once(patient.socket, "close");
  expect(patient.received()).toContain("done");
});

test("an upload over its limit is rejected by its content length, or by its bytes when it has none", async () => {
  await using server = await startService();
  const { socket, received } = begin(server.url, "/bytes", maxBytes + 1);
  await once(socket, "close");
  expect(received()).toContain("too-large");
  const body = ReadableStream.from(endless());
  // The client may see the closed connection before it has read the response.
  await fetch(`${server.url}/bytes`, { method: "POST", body, duplex: "half" }).catch(() => undefined);
  expect(server.ends).toEqual(["too-large", "too-large"]);
});

async function* endless(): AsyncGenerator<Uint8Array> {
  for (;;) {
    // Yields to the event loop, so that the client can notice the closed connection.
    await pause(1);
    yield new Uint8Array(1024 * 1024);
  }
}

test("an upload that ends early is reported as cut off", async () => {
  await using server = await startService();
  const { socket } = begin(server.url, "/bytes", 6);
  socket.end("123");
  await expect.poll(() => server.ends).toEqual(["cut-off"]);
  const complete = await fetch(`${server.url}/bytes`, { method: "POST", body: "123456" });
  expect(await complete.json()).toEqual({ bytes: 6 });
  const empty = await fetch(`${server.url}/bytes`, { method: "POST" });
  expect(await empty.json()).toEqual({ bytes: 0 });
});

test("a slow handler applies back-pressure to the upload", async () => {
  await using server = await startService();
  const { socket } = begin(server.url, "/slow", maxBytes);
  const chunk = Buffer.alloc(1024 * 1024);
  let sent = 0;
  const stop = pause(400).then(() => socket.destroy());
  while (!socket.destroyed && sent < maxBytes) {
    sent += chunk.length;
    if (!socket.write(chunk)) await Promise.race([once(socket, "drain"), stop]);
  }
  await stop;
  expect(sent).toBeLessThan(maxBytes / 2);
});

test("a HEAD row does not handle GET", async () => {
  await using server = await startService();
  expect((await fetch(`${server.url}/bytes`, { method: "HEAD" })).status).toBe(204);
  expect((await fetch(`${server.url}/bytes`)).status).toBe(400);
  expect(server.ends).toEqual(["other"]);
});

test("a body of which nothing arrives for fifteen seconds is given up long before its deadline", async () => {
  await using server = await startService(300_000);
  vi.useFakeTimers({ toFake: ["setInterval", "clearInterval"] });
  onTestFinished(() => void vi.useRealTimers());
  const { socket, received } = begin(server.url, "/json", 6);
  for (const seconds of [0, 10, 10]) {
    vi.advanceTimersByTime(seconds * 1000);
    socket.write("1");
    await pause(50);
  }
  expect(received()).toBe("");
  vi.advanceTimersByTime(20_000);
  await once(socket, "close");
  expect(received()).toContain("408 Request Timeout");
});
