import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { setImmediate as nextTurn } from "node:timers/promises";
import { afterEach, expect, test, vi } from "vitest";
import {
  type BufferedResponse,
  createHttpService,
  jsonResponse,
  type RequestRecord,
  type Route,
  type StreamedResponse,
} from "./index.ts";

afterEach(() => {
  vi.useRealTimers();
});

async function startStream(chunks: (signal: AbortSignal) => AsyncIterable<string>) {
  const records: RequestRecord[] = [];
  const response: Omit<StreamedResponse, "chunks"> = {
    status: 200,
    headers: { "content-type": "text/plain" },
    keepAliveChunk: "~",
    formatError: (error) => `failed: ${error instanceof Error ? error.message : ""}`,
  };
  const route: Route = {
    method: "GET",
    path: "/stream",
    handle: ({ signal }) => ({ ...response, chunks: chunks(signal) }),
  };
  const service = createHttpService({
    routes: [route],
    toErrorResponse: (error): BufferedResponse =>
      jsonResponse({ error: error instanceof Error ? error.message : "" }, 503),
    addHeaders: () => ({ "x-everywhere": "yes" }),
    dependencies: undefined,
    authenticate: () => undefined,
    recordRequest: (record) => records.push(record),
    maxBodyBytes: 1000,
  });
  const { url } = await service.listen({ host: "127.0.0.1", port: 0 });
  return { url, records, [Symbol.asyncDispose]: () => service.close(0.2) };
}

/** Requests the stream and reads nothing. */
async function connectWithoutReading(url: string): Promise<Socket> {
  const socket = connect(Number(new URL(url).port), "127.0.0.1");
  await once(socket, "connect");
  socket.pause();
  socket.write("GET /stream HTTP/1.1\r\nhost: localhost\r\n\r\n");
  return socket;
}

test("chunks are written immediately, with headers that stop proxies from buffering", async () => {
  const gate = Promise.withResolvers<void>();
  await using server = await startStream(async function* () {
    yield "one ";
    await gate.promise;
    yield "two";
  });
  const response = await fetch(`${server.url}/stream`);
  expect(response.headers.get("cache-control")).toBe("no-cache");
  expect(response.headers.get("x-accel-buffering")).toBe("no");
  expect(response.headers.get("x-everywhere")).toBe("yes");
  expect(response.headers.get("x-request-id")).toMatch(/^[0-9a-f-]{36}$/);
  const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader();
  expect((await reader?.read())?.value).toBe("one ");
  gate.resolve();
  expect((await reader?.read())?.value).toBe("two");
  expect((await reader?.read())?.done).toBe(true);
});

test("an error before the first chunk has its own status, a later one becomes the last chunk", async () => {
  await using early = await startStream(async function* () {
    yield* [];
    throw new Error("early");
  });
  const refused = await fetch(`${early.url}/stream`);
  expect([refused.status, await refused.json()]).toEqual([503, { error: "early" }]);
  await using late = await startStream(async function* () {
    yield "one ";
    throw new Error("late");
  });
  const cut = await fetch(`${late.url}/stream`);
  expect([cut.status, await cut.text()]).toEqual([200, "one failed: late"]);
});

test("a slow client applies back-pressure instead of filling memory, and receives everything", async () => {
  const chunk = "x".repeat(64 * 1024);
  const maxChunks = 400;
  let written = 0;
  const warnings: string[] = [];
  const warn = (warning: Error): void => void warnings.push(warning.name);
  process.on("warning", warn);
  await using server = await startStream(async function* () {
    while (written < maxChunks) {
      written += 1;
      yield chunk;
    }
  });
  const socket = await connectWithoutReading(server.url);
  await expect.poll(() => written).toBeGreaterThan(0);
  await new Promise((resolve) => setTimeout(resolve, 300));
  const pausedAt = written;
  expect(pausedAt).toBeLessThan(maxChunks / 2);
  await new Promise((resolve) => setTimeout(resolve, 200));
  expect(written).toBe(pausedAt);
  let bytes = 0;
  socket.on("data", (received: Buffer) => {
    bytes += received.length;
  });
  socket.resume();
  await expect.poll(() => bytes, { timeout: 5000 }).toBeGreaterThan(maxChunks * chunk.length);
  socket.destroy();
  process.off("warning", warn);
  expect(warnings).toEqual([]);
});

test("a client that disconnects stops the stream, even under back-pressure, and is recorded as 499", async () => {
  let isFinished = false;
  await using server = await startStream(async function* (signal) {
    try {
      while (!signal.aborted) yield "x".repeat(64 * 1024);
    } finally {
      isFinished = true;
    }
  });
  const socket = await connectWithoutReading(server.url);
  await new Promise((resolve) => setTimeout(resolve, 200));
  expect(isFinished).toBe(false);
  socket.destroy();
  await expect.poll(() => isFinished).toBe(true);
  await expect.poll(() => server.records).toMatchObject([{ route: "GET /stream", status: 499 }]);
});

test("a keep-alive chunk is written while there is no output", async () => {
  vi.useFakeTimers({ toFake: ["setInterval", "clearInterval"] });
  const gate = Promise.withResolvers<void>();
  await using server = await startStream(async function* () {
    yield "one";
    await gate.promise;
    yield "two";
  });
  const response = await fetch(`${server.url}/stream`);
  const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader();
  expect((await reader?.read())?.value).toBe("one");
  await vi.advanceTimersByTimeAsync(15_000);
  expect((await reader?.read())?.value).toBe("~");
  gate.resolve();
  expect((await reader?.read())?.value).toBe("two");
});

test("response headers are sent after 30 seconds, and a later error becomes the last chunk", async () => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
  const [started, gate] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  await using server = await startStream(async function* () {
    started.resolve();
    await gate.promise;
    yield* [];
    throw new Error("late");
  });
  const pending = fetch(`${server.url}/stream`);
  // Other timers exist before, such as the client's own for its connection; the server sets its timer in the same turn.
  await started.promise;
  await nextTurn();
  await vi.advanceTimersByTimeAsync(30_000);
  const response = await pending;
  expect(response.status).toBe(200);
  gate.resolve();
  expect(await response.text()).toBe("failed: late");
});
