import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { setTimeout as pause } from "node:timers/promises";
import { expect, test } from "vitest";
import { BodyProblem, type Call, createHttpService, jsonAnswer, streamBody, textAnswer } from "./index.ts";

const mostBytes = 64 * 1024 * 1024;
const deadlineMilliseconds = 400;

/** `/bytes` counts what comes, `/slow` takes a chunk and then nothing, `/json` is a row like any other. */
async function startService() {
  const ends: string[] = [];
  const bounds = { mostBytes, idleSeconds: 0.3 };
  const count = async (call: Call) => {
    let bytes = 0;
    for await (const chunk of streamBody(call, bounds)) bytes += chunk.length;
    return jsonAnswer({ bytes });
  };
  const takeOne = async (call: Call) => {
    for await (const chunk of streamBody(call, bounds)) if (chunk.length > 0) await pause(600);
    return textAnswer("done");
  };
  const service = createHttpService({
    routes: [
      { method: "POST", path: "/bytes", body: "stream", handle: count },
      { method: "HEAD", path: "/bytes", handle: () => ({ status: 204 }) },
      { method: "POST", path: "/slow", body: "stream", handle: takeOne },
      { method: "POST", path: "/json", handle: () => textAnswer("json") },
    ],
    answerFailure: (problem) => {
      ends.push(problem instanceof BodyProblem ? problem.reason : "other");
      return jsonAnswer({ problem: ends.at(-1) }, 400);
    },
    recordRequest: () => undefined,
    mostBodyBytes: 1000,
    bodyMilliseconds: deadlineMilliseconds,
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

test("an upload may take longer than other bodies, which are ended with a status when they are late", async () => {
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

test("a caller who falls silent in an upload is cut off, and one who only has to wait is not", async () => {
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

test("an upload over its own limit is refused, by its length at once and by its bytes when there is none", async () => {
  await using server = await startService();
  const { socket, received } = begin(server.url, "/bytes", mostBytes + 1);
  await once(socket, "close");
  expect(received()).toContain("too-large");
  const body = ReadableStream.from(endless());
  // The client may notice that nobody reads on before it has read the answer.
  await fetch(`${server.url}/bytes`, { method: "POST", body, duplex: "half" }).catch(() => undefined);
  expect(server.ends).toEqual(["too-large", "too-large"]);
});

async function* endless(): AsyncGenerator<Uint8Array> {
  for (;;) {
    // Without a pause the client may never come to notice that nobody reads on.
    await pause(1);
    yield new Uint8Array(1024 * 1024);
  }
}

test("an upload that ends early is told from a whole one", async () => {
  await using server = await startService();
  const { socket } = begin(server.url, "/bytes", 6);
  socket.end("123");
  await expect.poll(() => server.ends).toEqual(["cut-off"]);
  const whole = await fetch(`${server.url}/bytes`, { method: "POST", body: "123456" });
  expect(await whole.json()).toEqual({ bytes: 6 });
  const empty = await fetch(`${server.url}/bytes`, { method: "POST" });
  expect(await empty.json()).toEqual({ bytes: 0 });
});

test("a reader that is slow holds the caller back", async () => {
  await using server = await startService();
  const { socket } = begin(server.url, "/slow", mostBytes);
  const chunk = Buffer.alloc(1024 * 1024);
  let sent = 0;
  const stop = pause(400).then(() => socket.destroy());
  while (!socket.destroyed && sent < mostBytes) {
    sent += chunk.length;
    if (!socket.write(chunk)) await Promise.race([once(socket, "drain"), stop]);
  }
  await stop;
  expect(sent).toBeLessThan(mostBytes / 2);
});

test("a row for HEAD alone answers no GET", async () => {
  await using server = await startService();
  expect((await fetch(`${server.url}/bytes`, { method: "HEAD" })).status).toBe(204);
  expect((await fetch(`${server.url}/bytes`)).status).toBe(400);
  expect(server.ends).toEqual(["other"]);
});
