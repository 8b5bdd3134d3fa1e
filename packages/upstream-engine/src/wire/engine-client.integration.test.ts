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

type Answer = (request: IncomingMessage, response: ServerResponse) => void | Promise<void>;
type Started = AsyncDisposable & { readonly server: Server; readonly client: EngineClient };

async function start(answer: Answer, socketPath?: string): Promise<Started> {
  const server = createServer((request, response) => void answer(request, response));
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

test("a question goes there with its key and its JSON, over a UNIX socket too, and the answer comes back", async () => {
  await using folder = await makeTemporaryFolder("wire");
  await using started = await start(
    async (request, response) => {
      const body = (await request.toArray()).join("");
      response.end(JSON.stringify({ key: request.headers.authorization, path: request.url, body }));
    },
    join(folder.path, "e.sock"),
  );
  const answer = await started.client.ask({ path: "/tokenize", body: { content: "é" } }, never);
  expect(answer).toEqual({
    status: 200,
    value: { key: "Bearer key", path: "/tokenize", body: '{"content":"é"}' },
  });
});

test("a refusal is an answer with its status; for a stream it is a problem that carries both", async () => {
  await using started = await start((_request, response) => {
    response.statusCode = 503;
    response.end('{"error":{"message":"loading"}}');
  });
  const { client } = started;
  expect((await client.ask({ path: "/health" }, never)).status).toBe(503);
  await expect(collect(client.stream({ path: "/completion", body: {} }, never))).rejects.toMatchObject({
    detail: { kind: "refused", status: 503, value: { error: { message: "loading" } } },
  });
});

test("events come one by one whatever pieces they travel in, and the connection is used again", async () => {
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

test("an answer that stops in its middle is told apart from one that ends", async () => {
  await using started = await start((_request, response) => {
    sendEvents(response, ["1"]);
    setTimeout(() => response.destroy(), 20);
  });
  const seen: unknown[] = [];
  const reading = (async () => {
    for await (const event of started.client.stream({ path: "/", body: {} }, never)) seen.push(event);
  })();
  await expect(reading).rejects.toMatchObject({ detail: { kind: "cut-off" } });
  expect(seen).toEqual([1]);
});

test("a signal ends a stream at once with its own reason, and the engine sees the connection close", async () => {
  const closed = Promise.withResolvers<void>();
  await using started = await start((_request, response) => {
    sendEvents(response, ["1"]);
    response.on("close", closed.resolve);
  });
  const hangUp = new AbortController();
  const reading = (async () => {
    for await (const event of started.client.stream({ path: "/", body: {} }, hangUp.signal)) {
      if (event === 1) hangUp.abort(new Error("gone"));
    }
  })();
  await expect(reading).rejects.toThrow("gone");
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

test("a reader who stops reading stops the writer", async () => {
  let written = 0;
  const piece = `data: "${"x".repeat(64 * 1024)}"\n\n`;
  await using started = await start((_request, response) => {
    response.writeHead(200);
    const pieces = Readable.from(Array.from({ length: 2000 }, () => piece)).on(
      "data",
      () => void (written += 1),
    );
    pipeline(pieces, response, () => undefined);
  });
  for await (const event of started.client.stream({ path: "/", body: {} }, never)) {
    expect(event).toHaveLength(64 * 1024);
    await sleep(300);
    break;
  }
  expect(written).toBeLessThan(500);
});

test("an engine that is not there, and one that does not speak JSON, are named", async () => {
  const gone = createEngineClient({ address: { socketPath: "/nowhere/e.sock" } });
  await expect(gone.ask({ path: "/health" }, never)).rejects.toEqual(new WireError({ kind: "unreachable" }));
  await using started = await start((_request, response) => {
    sendEvents(response, ["{ no json"]);
    response.end();
  });
  await expect(collect(started.client.stream({ path: "/", body: {} }, never))).rejects.toMatchObject({
    detail: { kind: "not-understood" },
  });
});

test("a question is answered although the engine has just closed every connection that was kept", async () => {
  let isClosing = false;
  await using started = await start(async (request, response) => {
    await request.toArray();
    // The first question on a kept connection is never answered.
    const isKept = request.socket.bytesWritten > 0;
    if (isClosing && isKept) request.socket.destroy();
    else response.end("{}");
  });
  const ask = () => started.client.ask({ path: "/health" }, never);
  await Promise.all([ask(), ask(), ask()]);
  isClosing = true;
  expect((await ask()).status).toBe(200);
});

const switching = "HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: other\r\n\r\n";

test.each([
  ["asks to speak something else", (request: IncomingMessage) => void request.socket.write(switching)],
  [
    "promises an answer without end",
    (_request: IncomingMessage, response: ServerResponse) => {
      const promising = setInterval(() => response.writeProcessing(), 1);
      response.on("close", () => clearInterval(promising));
    },
  ],
] satisfies [string, Answer][])(
  "an engine that %s is not waited for, and is hung up on",
  async (_how, play) => {
    const closed = Promise.withResolvers<void>();
    await using started = await start((request, response) => {
      request.socket.on("close", closed.resolve);
      play(request, response);
    });
    await expect(started.client.ask({ path: "/", body: {} }, never)).rejects.toMatchObject({
      detail: { kind: "not-understood" },
    });
    await closed.promise;
  },
);

test("an answer that is promised a few times before it comes is taken", async () => {
  await using started = await start((_request, response) => {
    for (let promise = 0; promise < 20; promise += 1) response.writeProcessing();
    response.end('{"a":1}');
  });
  expect(await started.client.ask({ path: "/" }, never)).toEqual({ status: 200, value: { a: 1 } });
});

test("a signal ends a question that nobody answers at all", async () => {
  const arrived = Promise.withResolvers<void>();
  await using started = await start(() => arrived.resolve());
  const hangUp = new AbortController();
  const asking = started.client.ask({ path: "/" }, hangUp.signal);
  await arrived.promise;
  hangUp.abort(new Error("gone"));
  await expect(asking).rejects.toThrow("gone");
});

test.each([
  ["leaves its body open", () => undefined],
  ["goes on writing", (response: ServerResponse) => writeOn(response)],
  ["breaks off", (response: ServerResponse) => void setTimeout(() => response.destroy(), 5)],
])("an answer is over with its last event, although the engine %s", async (_how, behind) => {
  const closed = Promise.withResolvers<void>();
  await using started = await start((_request, response) => {
    response.on("close", closed.resolve);
    sendEvents(response, ["1", "[DONE]", "2"]);
    behind(response);
  });
  const startedAt = performance.now();
  expect(await collect(started.client.stream({ path: "/", body: {} }, never))).toEqual([1]);
  expect(performance.now() - startedAt).toBeLessThan(2000);
  await closed.promise;
});

function writeOn(response: ServerResponse): void {
  const writing = setInterval(() => response.write("data: 3\n\n"), 5);
  response.on("close", () => clearInterval(writing));
}
