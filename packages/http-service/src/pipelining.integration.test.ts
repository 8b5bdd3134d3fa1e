import { connect } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { expect, onTestFinished, test } from "vitest";
import { createHttpService, type Route } from "./index.ts";

const responseBytes = 1024 * 1024;

async function startService() {
  const started: string[] = [];
  const routes: readonly Route<null, null>[] = [
    {
      method: "GET",
      path: "/large/:number",
      handle: ({ parameters }) => {
        started.push(parameters["number"] ?? "");
        return { status: 200, headers: {}, body: "x".repeat(responseBytes) };
      },
    },
    { method: "GET", path: "/small", handle: () => ({ status: 200, headers: {}, body: "small" }) },
  ];
  const service = createHttpService({
    routes,
    dependencies: null,
    authenticate: () => null,
    toErrorResponse: () => ({ status: 500, headers: {}, body: "" }),
    recordRequest: () => undefined,
    maxBodyBytes: 1024,
  });
  const { url } = await service.listen({ host: "127.0.0.1", port: 0 });
  onTestFinished(() => service.close(0));
  return { url, started };
}

function send(url: string, count: number) {
  const socket = connect(Number(new URL(url).port), "127.0.0.1");
  onTestFinished(() => void socket.destroy());
  const requests = Array.from(
    { length: count },
    (_, index) => `GET /large/${index} HTTP/1.1\r\nHost: a\r\n\r\n`,
  );
  socket.write(requests.join(""));
  return socket;
}

test("requests that a client sends ahead without reading start one after the other", async () => {
  const { url, started } = await startService();
  const socket = send(url, 50);
  await expect.poll(() => started.length).toBeGreaterThan(0);
  await sleep(300);
  // The kernel's buffers take some responses.
  expect(started.length).toBeLessThan(20);
  expect(await (await fetch(`${url}/small`)).text()).toBe("small");
  let receivedBytes = 0;
  socket.on("data", (chunk) => (receivedBytes += chunk.length));
  await expect.poll(() => receivedBytes).toBeGreaterThan(50 * responseBytes);
  expect(started).toEqual(Array.from({ length: 50 }, (_, index) => String(index)));
});

test("a connection with far too many requests sent ahead is closed, and no other is affected", async () => {
  const { url, started } = await startService();
  const socket = send(url, 1000);
  socket.resume();
  await new Promise((resolve) => socket.once("close", resolve).once("error", () => undefined));
  expect(started.length).toBeLessThan(20);
  expect(await (await fetch(`${url}/small`)).text()).toBe("small");
});
