import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { expect, test } from "vitest";
import { createHttpService, type HttpResponse, textResponse } from "./index.ts";

const body = "x".repeat(64 * 1024 * 1024);

async function startService(handle: () => HttpResponse) {
  const service = createHttpService({
    routes: [{ method: "GET", path: "/", handle }],
    dependencies: undefined,
    authenticate: () => undefined,
    toErrorResponse: () => textResponse("failed"),
    recordRequest: () => undefined,
    maxBodyBytes: 1000,
    unreadMilliseconds: 600,
  });
  const { url } = await service.listen({ host: "127.0.0.1", port: 0 });
  return { port: Number(new URL(url).port), [Symbol.asyncDispose]: () => service.close(1) };
}

async function request(port: number): Promise<Socket> {
  const socket = connect(port, "127.0.0.1");
  await once(socket, "connect");
  socket.write("GET / HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n");
  return socket;
}

test("a client that never reads its response is disconnected, one that reads slowly gets all of it", async () => {
  await using server = await startService(() => textResponse(body));
  const idle = await request(server.port);
  idle.pause();
  idle.on("error", () => undefined);
  const slow = await request(server.port);
  let received = 0;
  const startedAt = performance.now();
  for await (const chunk of slow) {
    // A socket without an encoding emits buffers.
    received += (chunk as Buffer).length;
    // About two seconds in all, in pauses that are shorter than the limit.
    if (received % (1024 * 1024) < 65_536 && performance.now() - startedAt < 2000) await sleep(100);
  }
  expect(received).toBeGreaterThan(body.length);
  // Only what was on its way arrives.
  idle.resume();
  let left = 0;
  idle.on("data", (chunk) => (left += chunk.length));
  await once(idle, "close");
  expect(left).toBeLessThan(body.length);
});

async function* slowChunks(): AsyncGenerator<string> {
  yield "first";
  await sleep(1500);
  yield "second";
}

test("a connection without an unread response is left alone, however long its handler takes", async () => {
  await using server = await startService(() => ({
    status: 200,
    headers: {},
    chunks: slowChunks(),
    keepAliveChunk: "",
    formatError: () => "",
  }));
  const response = await fetch(`http://127.0.0.1:${server.port}/`);
  expect(await response.text()).toBe("firstsecond");
});
