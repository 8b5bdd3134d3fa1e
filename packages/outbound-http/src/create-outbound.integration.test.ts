import { once } from "node:events";
import { createServer, type IncomingMessage, type RequestListener, type ServerResponse } from "node:http";
import type { AddressInfo, Socket } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { expect, test } from "vitest";
import { createOutbound } from "./create-outbound.ts";
import type { Outbound, OutboundRequestOptions } from "./outbound.ts";

const plain: OutboundRequestOptions = { allowPlainHttp: true };

test("a response has its status, headers and body, and the connection is kept alive", async () => {
  await using fixture = await serve((request, response) => {
    response.writeHead(418, {
      "x-method": request.method ?? "",
      "x-encoding": request.headers["accept-encoding"],
    });
    response.end("short and stout");
  });
  for (let count = 0; count < 3; count += 1) {
    await using response = await fixture.outbound.request(fixture.url("/pot"), plain);
    expect([response.status, response.headers["x-method"], response.headers["x-encoding"]]).toEqual([
      418,
      "GET",
      "identity",
    ]);
    expect((await response.readAll(100)).toString()).toBe("short and stout");
  }
  expect(fixture.connections.length).toBe(1);
});

test("a kept-alive connection that the server closes on reuse is replaced, for idempotent requests only", async () => {
  const used = new WeakSet<Socket>();
  await using fixture = await serve(({ socket }, response) => {
    if (used.has(socket)) socket.resetAndDestroy();
    else response.end("here");
    used.add(socket);
  });
  const send = async (method: "GET" | "POST"): Promise<string> => {
    await using response = await fixture.outbound.request(fixture.url("/"), { ...plain, method });
    return (await response.readAll(10)).toString();
  };
  expect(await send("GET")).toBe("here");
  expect(await send("GET")).toBe("here");
  expect(fixture.connections.length).toBe(2);
  // POST is not idempotent, so it is never repeated.
  expect(await send("POST")).toBe("here");
  await expect(send("POST")).rejects.toMatchObject({ reason: "connection-broken" });
});

test("credentials are sent to the first origin only, and not again when a redirect returns there", async () => {
  const seen: (readonly [string, string | undefined])[] = [];
  const record: RequestListener = (request, response) => {
    seen.push([request.url ?? "", request.headers.authorization]);
    const to = new URL(request.url ?? "/", "http://x").searchParams.get("to");
    response.writeHead(to === null ? 200 : 307, to === null ? {} : { location: to }).end();
  };
  await using home = await serve(record);
  await using other = await serve(record);
  await using outbound = createOutbound({ privateHosts: ["127.0.0.1"] });
  const back = `${other.url("/b").href}?to=${encodeURIComponent(home.url("/c").href)}`;
  const start = home.url(`/a?to=${encodeURIComponent(`/same?to=${encodeURIComponent(back)}`)}`);
  await using response = await outbound.request(start, { ...plain, authorization: "Bearer secret" });
  expect(response.url.href).toBe(home.url("/c").href);
  expect(seen.map(([, authorization]) => authorization)).toEqual([
    "Bearer secret",
    "Bearer secret",
    undefined,
    undefined,
  ]);
  await expect(outbound.request(start, { ...plain, headers: { Authorization: "x" } })).rejects.toThrow(
    TypeError,
  );
});

test("redirects are followed up to the limit, for GET and HEAD only", async () => {
  await using fixture = await serve((request, response) => {
    const count = Number((request.url ?? "/0").slice(1));
    if (count === 0) response.end("end");
    else response.writeHead(302, { location: `/${count - 1}` }).end("moved");
  });
  const send = (count: number, options: OutboundRequestOptions): ReturnType<Outbound["request"]> =>
    fixture.outbound.request(fixture.url(`/${count}`), { ...plain, ...options });
  await using three = await send(3, { maxRedirects: 3 });
  expect((await three.readAll(10)).toString()).toBe("end");
  await expect(send(4, { maxRedirects: 3 })).rejects.toMatchObject({ reason: "redirects-too-many" });
  await using none = await send(1, { maxRedirects: 0 });
  await using posted = await send(1, { method: "POST", body: Buffer.from("x") });
  expect([none.status, posted.status]).toEqual([302, 302]);
});

test.each(["content-encoding: gzip", "content-encoding: br, identity", "transfer-encoding: gzip, chunked"])(
  "a response compressed by %s is rejected",
  async (header) => {
    await using fixture = await serveRaw(`HTTP/1.1 200 OK\r\n${header}\r\n\r\n0\r\n\r\n`);
    await expect(fixture.outbound.request(fixture.url("/"), plain)).rejects.toMatchObject({
      reason: "response-compressed",
    });
  },
);

test("oversized response headers and bodies are rejected", async () => {
  await using endless = await serveRaw(`HTTP/1.1 200 OK\r\nx: ${"y".repeat(64 * 1024)}\r\n\r\n`);
  await expect(endless.outbound.request(endless.url("/"), plain)).rejects.toMatchObject({
    reason: "response-too-large",
  });
  await using long = await serve((_request, response) => void response.end("x".repeat(1001)));
  await using response = await long.outbound.request(long.url("/"), plain);
  await expect(response.readAll(1000)).rejects.toMatchObject({ reason: "response-too-large" });
  await using fitting = await long.outbound.request(long.url("/"), plain);
  expect((await fitting.readAll(1001)).length).toBe(1001);
});

test("a stalled server times out, before the headers and in the middle of the body", async () => {
  await using silent = await serve(() => {});
  const impatient = { ...plain, idleSeconds: 0.1 };
  await expect(silent.outbound.request(silent.url("/"), impatient)).rejects.toMatchObject({
    reason: "timed-out",
  });
  await using stalled = await serve((_request, response) => void response.write("begun"));
  await using response = await stalled.outbound.request(stalled.url("/"), impatient);
  await expect(response.readAll(100)).rejects.toMatchObject({ reason: "timed-out" });
});

test("a body that trickles for ever times out", async () => {
  await using fixture = await serve(async (_request, response) => {
    for (; !response.destroyed; await sleep(20)) response.write("x");
  });
  await using response = await fixture.outbound.request(fixture.url("/"), { ...plain, idleSeconds: 0.1 });
  await expect(response.readAll(1_000_000)).rejects.toMatchObject({ reason: "timed-out" });
});

test("a slow reader applies back-pressure and receives everything", async () => {
  const total = 64 * 1024 * 1024;
  let sent = 0;
  await using fixture = await serve(async (_request, response) => {
    const chunk = Buffer.alloc(1024 * 1024);
    for (; sent < total; sent += chunk.length) if (!response.write(chunk)) await once(response, "drain");
    response.end();
  });
  await using response = await fixture.outbound.request(fixture.url("/"), { ...plain, idleSeconds: 0.2 });
  let read = 0;
  let sentMeanwhile = 0;
  for await (const chunk of response.body) {
    if (read === 0) {
      await sleep(500);
      sentMeanwhile = sent;
    }
    read += chunk.length;
  }
  expect(sentMeanwhile).toBeLessThan(total / 2);
  expect(read).toBe(total);
});

test("a truncated body is an error", async () => {
  await using fixture = await serveRaw("HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\nonly this");
  await using response = await fixture.outbound.request(fixture.url("/"), plain);
  await expect(response.readAll(1000)).rejects.toMatchObject({ reason: "connection-broken" });
});

test("aborting closes the connection, before the headers and in the middle of the body", async () => {
  await using silent = await serve(() => {});
  const early = new AbortController();
  const pending = silent.outbound.request(silent.url("/"), { ...plain, signal: early.signal });
  await silent.connected(1);
  early.abort(new Error("enough"));
  await expect(pending).rejects.toThrow("enough");
  await silent.closed();
  await using stalled = await serve((_request, response) => void response.write("begun"));
  const late = new AbortController();
  const response = await stalled.outbound.request(stalled.url("/"), { ...plain, signal: late.signal });
  const reading = response.readAll(100);
  late.abort(new Error("enough"));
  await expect(reading).rejects.toThrow("enough");
  await stalled.closed();
});

test("a response that is disposed of, or read in part, closes its connection", async () => {
  await using fixture = await serve((_request, response) => void response.write("begun"));
  const left = await fixture.outbound.request(fixture.url("/"), plain);
  await left[Symbol.asyncDispose]();
  const partly = await fixture.outbound.request(fixture.url("/"), plain);
  for await (const chunk of partly.body) {
    expect(chunk.toString()).toBe("begun");
    break;
  }
  await fixture.closed();
});

test("a request body is streamed, and an early response stops the upload", async () => {
  await using fixture = await serve(async (request, response) => {
    if (request.url === "/refuse") response.writeHead(413).end();
    else response.end(String(await countBytes(request)));
  });
  const send = (
    path: string,
    body: NonNullable<OutboundRequestOptions["body"]>,
  ): ReturnType<Outbound["request"]> =>
    fixture.outbound.request(fixture.url(path), { ...plain, method: "PATCH", body });
  await using streamed = await send("/", megabytes());
  expect((await streamed.readAll(100)).toString()).toBe(String(64 * 1024 * 1024));
  await using known = await send("/", Buffer.from("known"));
  expect((await known.readAll(100)).toString()).toBe("5");
  await using refused = await send("/refuse", megabytes());
  expect(refused.status).toBe(413);
});

test("an error of the caller's body iterable is rethrown unchanged", async () => {
  await using fixture = await serve(
    async (request, response) => void response.end(String(await countBytes(request))),
  );
  const pending = fixture.outbound.request(fixture.url("/"), { ...plain, method: "PUT", body: brokenBody() });
  await expect(pending).rejects.toThrow(new RangeError("the disk is gone"));
});

test("plain HTTP requires a listed host and allowPlainHttp, and errors name the host only", async () => {
  await using fixture = await serve((_request, response) => void response.end());
  const url = fixture.url("/secret-path?token=1");
  await expect(fixture.outbound.request(url)).rejects.toMatchObject({
    reason: "plain-forbidden",
    host: url.host,
  });
  await using strict = createOutbound({ privateHosts: [] });
  const error: unknown = await strict.request(url, plain).catch((caught: unknown) => caught);
  expect(error).toMatchObject({
    reason: "address-forbidden",
    message: `Cannot call ${url.host}: address-forbidden`,
  });
  expect(fixture.connections.length).toBe(0);
});

test("a listed host is not called when a host that is not listed refers to it", async () => {
  await using fixture = await serve((_request, response) => void response.end("here"));
  const referrer = new URL("https://stranger.test.example/");
  await expect(fixture.outbound.request(fixture.url("/"), { ...plain, referrer })).rejects.toMatchObject({
    reason: "address-forbidden",
  });
  await using response = await fixture.outbound.request(fixture.url("/"), {
    ...plain,
    referrer: fixture.url("/v2/"),
  });
  expect((await response.readAll(10)).toString()).toBe("here");
});

test("an unknown host and a closed port are distinguished", async () => {
  await using fixture = await serve((_request, response) => void response.end());
  const closed = fixture.url("/");
  await fixture[Symbol.asyncDispose]();
  await using outbound = createOutbound({ privateHosts: ["127.0.0.1", "nowhere.invalid"] });
  await expect(outbound.request(closed, plain)).rejects.toMatchObject({ reason: "connection-refused" });
  const nowhere = new URL("http://nowhere.invalid/");
  await expect(outbound.request(nowhere, plain)).rejects.toMatchObject({ reason: "no-address" });
});

type Fixture = AsyncDisposable & {
  readonly outbound: Outbound;
  readonly connections: readonly Socket[];
  url(path: string): URL;
  connected(count: number): Promise<void>;
  /** Resolves when no connection is open. */
  closed(): Promise<void>;
};

async function serve(
  handle: (request: IncomingMessage, response: ServerResponse) => unknown,
): Promise<Fixture> {
  const server = createServer((request, response) => void handle(request, response));
  const connections: Socket[] = [];
  server.on("connection", (socket: Socket) => void connections.push(socket));
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  // A server that listens by TCP has an address of this shape.
  const { port } = server.address() as AddressInfo;
  const outbound = createOutbound({ privateHosts: [`127.0.0.1:${port}`] });
  return {
    outbound,
    connections,
    url: (path) => new URL(path, `http://127.0.0.1:${port}`),
    connected: (count) => until(() => connections.length >= count),
    closed: () => until(() => connections.every((socket) => socket.destroyed)),
    async [Symbol.asyncDispose]() {
      await outbound[Symbol.asyncDispose]();
      if (!server.listening) return;
      server.close();
      server.closeAllConnections();
      await once(server, "close");
    },
  };
}

async function until(condition: () => boolean): Promise<void> {
  for (let waited = 0; !condition() && waited < 5000; waited += 5) await sleep(5);
  expect(condition()).toBe(true);
}

/** Sends these bytes for any request and closes the connection. */
function serveRaw(bytes: string): Promise<Fixture> {
  return serve((request) => void request.socket.end(bytes));
}

async function* megabytes(): AsyncGenerator<Uint8Array> {
  for (let sent = 0; sent < 64; sent += 1) yield await Promise.resolve(Buffer.alloc(1024 * 1024));
}

async function* brokenBody(): AsyncGenerator<Uint8Array> {
  yield await Promise.resolve(Buffer.from("begun"));
  throw new RangeError("the disk is gone");
}

async function countBytes(request: IncomingMessage): Promise<number> {
  let bytes = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) bytes += chunk.length; // sent without an encoding
  return bytes;
}
