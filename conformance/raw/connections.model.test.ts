import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, expect, test } from "vitest";
import { accessKey } from "../../apps/hearth/src/access/keys.ts";
import { startTestServer, type TestServer, tiny } from "../../apps/hearth/src/test/start-test-server.ts";
import { openConnection, type RawConnection, readChunks, requestText } from "./raw-connection.ts";

let server: TestServer;
beforeAll(async () => {
  server = await startTestServer({
    models: { tiny },
    access: { keys: [accessKey("probe", "right")] },
    script: () => [
      { do: "write", text: "Hello" },
      { do: "end", reason: "stop" },
    ],
  });
});
afterAll(() => server[Symbol.asyncDispose]());

const key = "authorization: Bearer right";
const chat = JSON.stringify({ model: "tiny", stream: false, messages: [{ role: "user", content: "Hi" }] });
const expectedOutput = '"content":"Hello"';

function countOf(received: string, text: string): number {
  return received.split(text).length - 1;
}

test("a connection stays open after a complete response, a stream and an error", async () => {
  using connection = openConnection(server.url);
  connection.send(requestText("/api/chat", { headers: [key], body: chat }));
  await connection.until(expectedOutput);
  const streamed = chat.replace('"stream":false', '"stream":true');
  connection.send(requestText("/api/chat", { headers: [key], body: streamed }));
  await connection.until("\r\n0\r\n\r\n");
  connection.send(requestText("/api/version"));
  await connection.until("HTTP/1.1 401");
  connection.send(requestText("/api/version", { headers: [key] }));
  const received = await connection.until('{"version":');
  expect([...received.matchAll(/HTTP\/1\.1 (\d{3})/gu)].map(([, status]) => status)).toEqual([
    "200",
    "200",
    "401",
    "200",
  ]);
  expect(received.toLowerCase()).not.toContain("connection: close");
});

test("connection: close is respected, even after a stream", async () => {
  using connection = openConnection(server.url);
  const streamed = chat.replace('"stream":false', '"stream":true');
  connection.send(requestText("/api/chat", { headers: [key, "connection: close"], body: streamed }));
  expect(readChunks(await connection.untilClosed()).head).toContain("\r\nconnection: close");
});

test.each(["/", "/api/tags", "/api/version", "/api/ps", "/v1/models"])(
  "HEAD %s has the headers of GET and no body, and the connection stays open",
  async (path) => {
    using connection = openConnection(server.url);
    connection.send(requestText(path, { method: "HEAD", headers: [key] }));
    const head = await connection.until("\r\n\r\n");
    connection.send(requestText(path, { headers: [key] }));
    const received = await connection.until(/\r\n\r\n.*\r\n\r\n./su);
    expect(received.startsWith(head)).toBe(true);
    const lengths = [...received.matchAll(/content-length: (\d+)/giu)].map(([, length]) => length);
    expect(lengths).toHaveLength(2);
    expect(lengths[0]).toBe(lengths[1]);
    expect([...received.matchAll(/HTTP\/1\.1 (\d{3})/gu)].map(([, status]) => status)).toEqual([
      "200",
      "200",
    ]);
  },
);

test("a client that expects 100-continue receives it, and then the response", async () => {
  using connection = openConnection(server.url);
  const [head = ""] = requestText("/api/chat", { headers: [key, "expect: 100-continue"], body: chat }).split(
    chat,
  );
  connection.send(head);
  expect(await connection.until("\r\n\r\n")).toBe("HTTP/1.1 100 Continue\r\n\r\n");
  connection.send(chat);
  expect(await connection.until(expectedOutput)).toContain("HTTP/1.1 200 OK");
});

test("pipelined requests are answered in order", async () => {
  using connection = openConnection(server.url);
  connection.send(
    [
      requestText("/api/chat", { headers: [key], body: chat }),
      requestText("/api/version", { headers: [key] }),
      requestText("/v1/models", { headers: [key] }),
      requestText("/nowhere", { headers: [key] }),
    ].join(""),
  );
  const received = await connection.until("404 page not found");
  const offsets = [expectedOutput, '{"version":', '"object":"list"', "404 page not found"].map((text) =>
    received.indexOf(text),
  );
  expect(offsets).toEqual(offsets.toSorted((one, other) => one - other));
  expect(countOf(received, "HTTP/1.1 200 OK")).toBe(3);
});

test.each([
  ["as curl -d sends it", ["content-type: application/x-www-form-urlencoded"]],
  ["without any type", []],
  ["as plain text", ["content-type: text/plain;charset=UTF-8"]],
])("a body %s is JSON", async (_how, headers) => {
  using connection = openConnection(server.url);
  connection.send(
    requestText("/api/chat", {
      headers: [key, "user-agent: curl/8.14.1", "accept: */*", ...headers],
      body: chat,
    }),
  );
  expect(await connection.until(expectedOutput)).toContain("HTTP/1.1 200 OK");
});

function sendLongHeader(length: number): RawConnection {
  const connection = openConnection(server.url);
  connection.send(requestText("/api/version", { headers: [key, `x-long: ${"a".repeat(length)}`] }));
  return connection;
}

test("a header of 12,000 characters is accepted, one of 20,000 is rejected, and the server keeps running", async () => {
  using long = sendLongHeader(12_000);
  expect(await long.until('{"version":')).toContain("HTTP/1.1 200 OK");
  using longer = sendLongHeader(20_000);
  expect(await longer.untilClosed()).toMatch(/^HTTP\/1\.1 431 /u);
  using next = sendLongHeader(1);
  expect(await next.until('{"version":')).toContain("HTTP/1.1 200 OK");
});

test("a body that arrives slowly is accepted", async () => {
  using connection = openConnection(server.url);
  const [head = ""] = requestText("/api/chat", { headers: [key], body: chat }).split(chat);
  connection.send(head);
  for (const chunk of chat.match(/.{1,8}/gsu) ?? []) {
    await sleep(20);
    expect(connection.received()).toBe("");
    connection.send(chunk);
  }
  expect(await connection.until(expectedOutput)).toContain("HTTP/1.1 200 OK");
});

test("a body in chunks of one byte is read completely", async () => {
  using connection = openConnection(server.url);
  const head = requestText("/api/chat", { method: "POST", headers: [key, "transfer-encoding: chunked"] });
  connection.send(
    `${head}${(chat.match(/./gsu) ?? []).map((letter) => `1\r\n${letter}\r\n`).join("")}0\r\n\r\n`,
  );
  expect(await connection.until(expectedOutput)).toContain("HTTP/1.1 200 OK");
});

test("a client that closes its side before the response has disconnected, and its slot is free", async () => {
  await using slow = await startTestServer({
    models: { tiny },
    limits: { sequences: 1, maxQueuedPerModel: 0 },
    script: (_request, turn) => [
      { do: "wait", milliseconds: turn === 1 ? 60_000 : 0 },
      { do: "write", text: "Hello" },
      { do: "end", reason: "stop" },
    ],
  });
  using left = openConnection(slow.url);
  left.send(requestText("/api/chat", { body: chat }));
  await expect.poll(() => slow.requests.length).toBe(1);
  left.finishSending();
  expect(await left.untilClosed()).toBe("");
  using next = openConnection(slow.url);
  next.send(requestText("/api/chat", { body: chat }));
  expect(await next.until(expectedOutput)).toContain("HTTP/1.1 200 OK");
  expect(slow.logRecords().map(({ status }) => status)).toContain(499);
});

test("invalid data after a request closes the connection with 400, and other connections are unaffected", async () => {
  using connection = openConnection(server.url);
  connection.send(requestText("/api/version", { headers: [key] }));
  await connection.until('{"version":');
  connection.send("GARBAGE\r\n\r\n");
  expect(await connection.untilClosed()).toMatch(/\}HTTP\/1\.1 400 Bad Request\r\n/u);
  using next = openConnection(server.url);
  next.send(requestText("/api/version", { headers: [key] }));
  expect(await next.until('{"version":')).toContain("HTTP/1.1 200 OK");
});
