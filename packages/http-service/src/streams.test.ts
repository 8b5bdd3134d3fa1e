import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { afterEach, expect, test, vi } from "vitest";
import {
  createHttpService,
  jsonAnswer,
  type RequestRecord,
  type Route,
  type StreamAnswer,
  type WholeAnswer,
} from "./index.ts";

afterEach(() => {
  vi.useRealTimers();
});

async function startStream(pieces: (signal: AbortSignal) => AsyncIterable<string>) {
  const records: RequestRecord[] = [];
  const answer: Omit<StreamAnswer, "pieces"> = {
    status: 200,
    headers: { "content-type": "text/plain" },
    filler: "~",
    endFailed: (problem) => `failed: ${problem instanceof Error ? problem.message : ""}`,
  };
  const route: Route = {
    method: "GET",
    path: "/stream",
    handle: ({ signal }) => ({ ...answer, pieces: pieces(signal) }),
  };
  const service = createHttpService({
    routes: [route],
    answerFailure: (problem): WholeAnswer =>
      jsonAnswer({ problem: problem instanceof Error ? problem.message : "" }, 503),
    addHeaders: () => ({ "x-everywhere": "yes" }),
    recordRequest: (record) => records.push(record),
    mostBodyBytes: 1000,
  });
  const { url } = await service.listen({ host: "127.0.0.1", port: 0 });
  return { url, records, [Symbol.asyncDispose]: () => service.close(0.2) };
}

/** Asks for the stream and reads nothing. */
async function connectWithoutReading(url: string): Promise<Socket> {
  const socket = connect(Number(new URL(url).port), "127.0.0.1");
  await once(socket, "connect");
  socket.pause();
  socket.write("GET /stream HTTP/1.1\r\nhost: localhost\r\n\r\n");
  return socket;
}

test("pieces are written as they come, under headers that keep proxies from holding them back", async () => {
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

test("a problem before the first piece has a status of its own, one after it is the last piece", async () => {
  await using early = await startStream(async function* () {
    yield* [];
    throw new Error("early");
  });
  const refused = await fetch(`${early.url}/stream`);
  expect([refused.status, await refused.json()]).toEqual([503, { problem: "early" }]);
  await using late = await startStream(async function* () {
    yield "one ";
    throw new Error("late");
  });
  const cut = await fetch(`${late.url}/stream`);
  expect([cut.status, await cut.text()]).toEqual([200, "one failed: late"]);
});

test("a slow reader holds the writer back instead of filling the memory, and gets everything in the end", async () => {
  const piece = "x".repeat(64 * 1024);
  const mostPieces = 400;
  let written = 0;
  const warnings: string[] = [];
  const warn = (warning: Error): void => void warnings.push(warning.name);
  process.on("warning", warn);
  await using server = await startStream(async function* () {
    while (written < mostPieces) {
      written += 1;
      yield piece;
    }
  });
  const socket = await connectWithoutReading(server.url);
  await expect.poll(() => written).toBeGreaterThan(0);
  await new Promise((resolve) => setTimeout(resolve, 300));
  const heldAt = written;
  expect(heldAt).toBeLessThan(mostPieces / 2);
  await new Promise((resolve) => setTimeout(resolve, 200));
  expect(written).toBe(heldAt);
  let bytes = 0;
  socket.on("data", (chunk: Buffer) => {
    bytes += chunk.length;
  });
  socket.resume();
  await expect.poll(() => bytes, { timeout: 5000 }).toBeGreaterThan(mostPieces * piece.length);
  socket.destroy();
  process.off("warning", warn);
  expect(warnings).toEqual([]);
});

test("a caller who hangs up ends the pieces, also while it is held back, and leaves a record that says so", async () => {
  let isEnded = false;
  await using server = await startStream(async function* (signal) {
    try {
      while (!signal.aborted) yield "x".repeat(64 * 1024);
    } finally {
      isEnded = true;
    }
  });
  const socket = await connectWithoutReading(server.url);
  await new Promise((resolve) => setTimeout(resolve, 200));
  expect(isEnded).toBe(false);
  socket.destroy();
  await expect.poll(() => isEnded).toBe(true);
  await expect.poll(() => server.records).toMatchObject([{ route: "GET /stream", status: 499 }]);
});

test("while no piece comes the filler is written, so that nobody takes the connection for dead", async () => {
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

test("a caller gets the head of an answer after half a minute, and a problem after that as the last piece", async () => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
  const gate = Promise.withResolvers<void>();
  await using server = await startStream(async function* () {
    await gate.promise;
    yield* [];
    throw new Error("late");
  });
  const pending = fetch(`${server.url}/stream`);
  await vi.waitUntil(() => vi.getTimerCount() > 0, { interval: 5 });
  await vi.advanceTimersByTimeAsync(30_000);
  const response = await pending;
  expect(response.status).toBe(200);
  gate.resolve();
  expect(await response.text()).toBe("failed: late");
});
