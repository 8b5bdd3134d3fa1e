import { once } from "node:events";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { pipeline, Readable } from "node:stream";
import { setTimeout as sleep } from "node:timers/promises";
import { makeTemporaryFolder } from "@hearth-and-keep/test-servers";
import { expect, test } from "vitest";
import { createEngineClient, type EngineClient } from "./engine-client.ts";
import { WireError } from "./wire-error.ts";

const never = new AbortController().signal;

type Handler = (request: IncomingMessage, response: ServerResponse) => void | Promise<void>;
type TestServer = AsyncDisposable & { readonly server: Server; readonly client: EngineClient };

async function start(handle: Handler, socketPath?: string): Promise<TestServer> {
  const server = createServer((request, response) => void handle(request, response));
  if (socketPath === undefined) server.listen(0, "127.0.0.1");
  else server.listen(socketPath);
  await once(server, "listening");
  // A server that listens on a port has such an address.
  const { port } = server.address() as AddressInfo;
  const address = socketPath === undefined ? new URL(`http://127.0.0.1:${port}/`) : { socketPath };
  const client = createEngineClient({ address, authorization: "Bearer key" });
  return {
    server,
    client,
    async [Symbol.asyncDispose]() {
      client[Symbol.dispose]();
      server.closeAllConnections();
      server.close();
      await once(server, "close");
    },
  };
}

function sendEvents(response: ServerResponse, texts: readonly string[]): void {
  response.writeHead(200, { "content-type": "text/event-stream" });
  for (const text of texts) response.write(`data: ${text}\n\n`);
}

async function collect(events: AsyncIterable<unknown>): Promise<unknown[]> {
  const all: unknown[] = [];
  for await (const event of events) all.push(event);
  return all;
}

test("a request is sent with its key and JSON body over a UNIX socket, and the response is returned", async () => {
  await using folder = await makeTemporaryFolder("wire");
  await using started = await start(
    async (request, response) => {
      const body = (await request.toArray()).join("");
      response.end(JSON.stringify({ key: request.headers.authorization, path: request.url, body }));
    },
    join(folder.path, "e.sock"),
  );
  const response = await started.client.request({ path: "/tokenize", body: { content: "é" } }, never);
  expect(response).toEqual({
    status: 200,
    value: { key: "Bearer key", path: "/tokenize", body: '{"content":"é"}' },
  });
});

test("an error response is returned with its status; a stream throws it with status and body", async () => {
  await using started = await start((_request, response) => {
    response.statusCode = 503;
    response.end('{"error":{"message":"loading"}}');
  });
  const { client } = started;
  expect((await client.request({ path: "/health" }, never)).status).toBe(503);
  await expect(collect(client.stream({ path: "/completion", body: {} }, never))).rejects.toMatchObject({
    detail: { kind: "error-response", status: 503, value: { error: { message: "loading" } } },
  });
});

test("events are parsed however they are split into packets, and the connection is reused", async () => {
  let connections = 0;
  await using started = await start((_request, response) => {
    response.writeHead(200);
    const bytes = Buffer.from('data: {"a":"é"}\n\ndata: {"a":2}\n\ndata: [DONE]\n\n');
    for (const byte of bytes) response.write(Buffer.of(byte));
    response.end();
  });
  started.server.on("connection", () => void (connections += 1));
  for (let round = 0; round < 3; round += 1) {
    const events = await collect(started.client.stream({ path: "/", body: {} }, never));
    expect(events).toEqual([{ a: "é" }, { a: 2 }]);
  }
  expect(connections).toBe(1);
});

test("an interrupted response is distinguished from a complete one", async () => {
  await using started = await start((_request, response) => {
    sendEvents(response, ["1"]);
    setTimeout(() => response.destroy(), 20);
  });
  const seen: unknown[] = [];
  const reading = (async () => {
    for await (const event of started.client.stream({ path: "/", body: {} }, never)) seen.push(event);
  })();
  await expect(reading).rejects.toMatchObject({ detail: { kind: "interrupted" } });
  expect(seen).toEqual([1]);
});

test("aborting the signal ends a stream immediately with its reason and closes the connection", async () => {
  const closed = Promise.withResolvers<void>();
  await using started = await start((_request, response) => {
    sendEvents(response, ["1"]);
    response.on("close", closed.resolve);
  });
  const controller = new AbortController();
  const reading = (async () => {
    for await (const event of started.client.stream({ path: "/", body: {} }, controller.signal)) {
      if (event === 1) controller.abort(new Error("aborted"));
    }
  })();
  await expect(reading).rejects.toThrow("aborted");
  await closed.promise;
});

test("leaving the loop closes the connection", async () => {
  const closed = Promise.withResolvers<void>();
  await using started = await start((_request, response) => {
    sendEvents(response, ["1", "2"]);
    response.on("close", closed.resolve);
  });
  for await (const event of started.client.stream({ path: "/", body: {} }, never)) if (event === 1) break;
  await expect(closed.promise).resolves.toBeUndefined();
});

test("a reader that stops reading applies backpressure to the writer", async () => {
  let written = 0;
  const text = `data: "${"x".repeat(64 * 1024)}"\n\n`;
  await using started = await start((_request, response) => {
    response.writeHead(200);
    const events = Readable.from(Array.from({ length: 2000 }, () => text)).on(
      "data",
      () => void (written += 1),
    );
    pipeline(events, response, () => undefined);
  });
  for await (const event of started.client.stream({ path: "/", body: {} }, never)) {
    expect(event).toHaveLength(64 * 1024);
    await sleep(300);
    break;
  }
  expect(written).toBeLessThan(500);
});

test("a missing engine and invalid JSON are reported as such", async () => {
  const unreachable = createEngineClient({ address: { socketPath: "/nowhere/e.sock" } });
  await expect(unreachable.request({ path: "/health" }, never)).rejects.toEqual(
    new WireError({ kind: "unreachable" }),
  );
  await using started = await start((_request, response) => {
    sendEvents(response, ["{ no json"]);
    response.end();
  });
  await expect(collect(started.client.stream({ path: "/", body: {} }, never))).rejects.toMatchObject({
    detail: { kind: "invalid-response" },
  });
});

test("a request succeeds although the engine has just closed all keep-alive connections", async () => {
  let isClosing = false;
  await using started = await start(async (request, response) => {
    await request.toArray();
    // The first request on a reused connection gets no response.
    const isReused = request.socket.bytesWritten > 0;
    if (isClosing && isReused) request.socket.destroy();
    else response.end("{}");
  });
  const send = () => started.client.request({ path: "/health" }, never);
  await Promise.all([send(), send(), send()]);
  isClosing = true;
  expect((await send()).status).toBe(200);
});

const switching = "HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: other\r\n\r\n";

test.each([
  ["switches protocols", (request: IncomingMessage) => void request.socket.write(switching)],
  [
    "sends endless informational responses",
    (_request: IncomingMessage, response: ServerResponse) => {
      const timer = setInterval(() => response.writeProcessing(), 1);
      response.on("close", () => clearInterval(timer));
    },
  ],
] satisfies [string, Handler][])("an engine that %s is rejected and disconnected", async (_how, respond) => {
  const closed = Promise.withResolvers<void>();
  await using started = await start((request, response) => {
    request.socket.on("close", closed.resolve);
    respond(request, response);
  });
  await expect(started.client.request({ path: "/", body: {} }, never)).rejects.toMatchObject({
    detail: { kind: "invalid-response" },
  });
  await closed.promise;
});

test("a response after a few informational ones is accepted", async () => {
  await using started = await start((_request, response) => {
    for (let promise = 0; promise < 20; promise += 1) response.writeProcessing();
    response.end('{"a":1}');
  });
  expect(await started.client.request({ path: "/" }, never)).toEqual({ status: 200, value: { a: 1 } });
});

test("aborting the signal ends a request that gets no response", async () => {
  const arrived = Promise.withResolvers<void>();
  await using started = await start(() => arrived.resolve());
  const controller = new AbortController();
  const request = started.client.request({ path: "/" }, controller.signal);
  await arrived.promise;
  controller.abort(new Error("aborted"));
  await expect(request).rejects.toThrow("aborted");
});

test.each([
  ["leaves the body open", () => undefined],
  ["keeps writing", (response: ServerResponse) => keepWriting(response)],
  ["disconnects", (response: ServerResponse) => void setTimeout(() => response.destroy(), 5)],
])("a response ends with its last event although the engine %s", async (_how, afterEnd) => {
  const closed = Promise.withResolvers<void>();
  await using started = await start((_request, response) => {
    response.on("close", closed.resolve);
    sendEvents(response, ["1", "[DONE]", "2"]);
    afterEnd(response);
  });
  const startedAt = performance.now();
  expect(await collect(started.client.stream({ path: "/", body: {} }, never))).toEqual([1]);
  expect(performance.now() - startedAt).toBeLessThan(2000);
  await closed.promise;
});

function keepWriting(response: ServerResponse): void {
  const timer = setInterval(() => response.write("data: 3\n\n"), 5);
  response.on("close", () => clearInterval(timer));
}
