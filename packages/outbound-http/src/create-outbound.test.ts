import { once } from "node:events";
import { createServer, type IncomingMessage, type RequestListener, type ServerResponse } from "node:http";
import type { AddressInfo, Socket } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { expect, test } from "vitest";
import { createOutbound } from "./create-outbound.ts";
import type { Outbound, RequestPlan } from "./outbound.ts";

const plain: RequestPlan = { isInsecure: true };

test("an answer comes with its status, its headers and its body, and the connection is kept", async () => {
  await using stage = await serve((request, response) => {
    response.writeHead(418, {
      "x-method": request.method ?? "",
      "x-packing": request.headers["accept-encoding"],
    });
    response.end("short and stout");
  });
  for (let asked = 0; asked < 3; asked += 1) {
    await using answer = await stage.outbound.request(stage.url("/pot"), plain);
    expect([answer.status, answer.headers["x-method"], answer.headers["x-packing"]]).toEqual([
      418,
      "GET",
      "identity",
    ]);
    expect((await answer.readWhole(100)).toString()).toBe("short and stout");
  }
  expect(stage.connections.length).toBe(1);
});

test("a kept connection that the server closes as we use it again is replaced without anybody noticing", async () => {
  const used = new WeakSet<Socket>();
  await using stage = await serve(({ socket }, response) => {
    if (used.has(socket)) socket.resetAndDestroy();
    else response.end("here");
    used.add(socket);
  });
  const ask = async (method: "GET" | "POST"): Promise<string> => {
    await using answer = await stage.outbound.request(stage.url("/"), { ...plain, method });
    return (await answer.readWhole(10)).toString();
  };
  expect(await ask("GET")).toBe("here");
  expect(await ask("GET")).toBe("here");
  expect(stage.connections.length).toBe(2);
  // What changes something is not done twice unasked.
  expect(await ask("POST")).toBe("here");
  await expect(ask("POST")).rejects.toMatchObject({ reason: "connection-broken" });
});

test("an authorization goes to the first origin alone, and does not come back", async () => {
  const seen: (readonly [string, string | undefined])[] = [];
  const note: RequestListener = (request, response) => {
    seen.push([request.url ?? "", request.headers.authorization]);
    const to = new URL(request.url ?? "/", "http://x").searchParams.get("to");
    response.writeHead(to === null ? 200 : 307, to === null ? {} : { location: to }).end();
  };
  await using home = await serve(note);
  await using other = await serve(note);
  await using outbound = createOutbound({ privateHosts: ["127.0.0.1"] });
  const back = `${other.url("/b").href}?to=${encodeURIComponent(home.url("/c").href)}`;
  const start = home.url(`/a?to=${encodeURIComponent(`/same?to=${encodeURIComponent(back)}`)}`);
  await using answer = await outbound.request(start, { ...plain, authorization: "Bearer secret" });
  expect(answer.url.href).toBe(home.url("/c").href);
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

test("redirects are followed as often as the plan says, and for GET and HEAD alone", async () => {
  await using stage = await serve((request, response) => {
    const count = Number((request.url ?? "/0").slice(1));
    if (count === 0) response.end("end");
    else response.writeHead(302, { location: `/${count - 1}` }).end("moved");
  });
  const ask = (count: number, plan: RequestPlan): ReturnType<Outbound["request"]> =>
    stage.outbound.request(stage.url(`/${count}`), { ...plain, ...plan });
  await using three = await ask(3, { mostRedirects: 3 });
  expect((await three.readWhole(10)).toString()).toBe("end");
  await expect(ask(4, { mostRedirects: 3 })).rejects.toMatchObject({ reason: "redirects-too-many" });
  await using none = await ask(1, { mostRedirects: 0 });
  await using posted = await ask(1, { method: "POST", body: Buffer.from("x") });
  expect([none.status, posted.status]).toEqual([302, 302]);
});

test.each(["content-encoding: gzip", "content-encoding: br, identity", "transfer-encoding: gzip, chunked"])(
  "an answer packed by %s is refused",
  async (header) => {
    await using stage = await serveRaw(`HTTP/1.1 200 OK\r\n${header}\r\n\r\n0\r\n\r\n`);
    await expect(stage.outbound.request(stage.url("/"), plain)).rejects.toMatchObject({
      reason: "answer-packed",
    });
  },
);

test("a head without end is refused, as is a body longer than the caller takes", async () => {
  await using endless = await serveRaw(`HTTP/1.1 200 OK\r\nx: ${"y".repeat(64 * 1024)}\r\n\r\n`);
  await expect(endless.outbound.request(endless.url("/"), plain)).rejects.toMatchObject({
    reason: "answer-too-large",
  });
  await using long = await serve((_request, response) => void response.end("x".repeat(1001)));
  await using answer = await long.outbound.request(long.url("/"), plain);
  await expect(answer.readWhole(1000)).rejects.toMatchObject({ reason: "answer-too-large" });
  await using fitting = await long.outbound.request(long.url("/"), plain);
  expect((await fitting.readWhole(1001)).length).toBe(1001);
});

test("a silent server is given up on, before the head and in the middle of the body", async () => {
  await using mute = await serve(() => {});
  const hurried = { ...plain, idleSeconds: 0.1 };
  await expect(mute.outbound.request(mute.url("/"), hurried)).rejects.toMatchObject({ reason: "timed-out" });
  await using halting = await serve((_request, response) => void response.write("begun"));
  await using answer = await halting.outbound.request(halting.url("/"), hurried);
  await expect(answer.readWhole(100)).rejects.toMatchObject({ reason: "timed-out" });
});

test("a small answer that trickles for ever is given up on", async () => {
  await using stage = await serve(async (_request, response) => {
    for (; !response.destroyed; await sleep(20)) response.write("x");
  });
  await using answer = await stage.outbound.request(stage.url("/"), { ...plain, idleSeconds: 0.1 });
  await expect(answer.readWhole(1_000_000)).rejects.toMatchObject({ reason: "timed-out" });
});

test("a slow reader loses nothing, and holds the sender back", async () => {
  const total = 64 * 1024 * 1024;
  let sent = 0;
  await using stage = await serve(async (_request, response) => {
    const piece = Buffer.alloc(1024 * 1024);
    for (; sent < total; sent += piece.length) if (!response.write(piece)) await once(response, "drain");
    response.end();
  });
  await using answer = await stage.outbound.request(stage.url("/"), { ...plain, idleSeconds: 0.2 });
  let read = 0;
  let sentMeanwhile = 0;
  for await (const chunk of answer.body) {
    if (read === 0) {
      await sleep(500);
      sentMeanwhile = sent;
    }
    read += chunk.length;
  }
  expect(sentMeanwhile).toBeLessThan(total / 2);
  expect(read).toBe(total);
});

test("a body that is cut short is a failure, not an end", async () => {
  await using stage = await serveRaw("HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\nonly this");
  await using answer = await stage.outbound.request(stage.url("/"), plain);
  await expect(answer.readWhole(1000)).rejects.toMatchObject({ reason: "connection-broken" });
});

test("aborting closes the connection, before the head and in the middle of the body", async () => {
  await using mute = await serve(() => {});
  const early = new AbortController();
  const asked = mute.outbound.request(mute.url("/"), { ...plain, signal: early.signal });
  await mute.connected(1);
  early.abort(new Error("enough"));
  await expect(asked).rejects.toThrow("enough");
  await mute.closed();
  await using halting = await serve((_request, response) => void response.write("begun"));
  const late = new AbortController();
  const answer = await halting.outbound.request(halting.url("/"), { ...plain, signal: late.signal });
  const reading = answer.readWhole(100);
  late.abort(new Error("enough"));
  await expect(reading).rejects.toThrow("enough");
  await halting.closed();
});

test("an answer that is left, or read in part, closes its connection", async () => {
  await using stage = await serve((_request, response) => void response.write("begun"));
  const left = await stage.outbound.request(stage.url("/"), plain);
  await left[Symbol.asyncDispose]();
  const partly = await stage.outbound.request(stage.url("/"), plain);
  for await (const chunk of partly.body) {
    expect(chunk.toString()).toBe("begun");
    break;
  }
  await stage.closed();
});

test("a body is sent as it comes, and an early refusal ends the sending", async () => {
  await using stage = await serve(async (request, response) => {
    if (request.url === "/refuse") response.writeHead(413).end();
    else response.end(String(await countBytes(request)));
  });
  const send = (path: string, body: NonNullable<RequestPlan["body"]>): ReturnType<Outbound["request"]> =>
    stage.outbound.request(stage.url(path), { ...plain, method: "PATCH", body });
  await using whole = await send("/", megabytes());
  expect((await whole.readWhole(100)).toString()).toBe(String(64 * 1024 * 1024));
  await using known = await send("/", Buffer.from("known"));
  expect((await known.readWhole(100)).toString()).toBe("5");
  await using refused = await send("/refuse", megabytes());
  expect(refused.status).toBe(413);
});

test("what keeps the caller's own body from being read reaches the caller as it is", async () => {
  await using stage = await serve(
    async (request, response) => void response.end(String(await countBytes(request))),
  );
  const asked = stage.outbound.request(stage.url("/"), { ...plain, method: "PUT", body: brokenBody() });
  await expect(asked).rejects.toThrow(new RangeError("the disk is gone"));
});

test("plain http needs the list and the request, and a problem names the host alone", async () => {
  await using stage = await serve((_request, response) => void response.end());
  const url = stage.url("/secret-path?token=1");
  await expect(stage.outbound.request(url)).rejects.toMatchObject({
    reason: "plain-forbidden",
    host: url.host,
  });
  await using strict = createOutbound({ privateHosts: [] });
  const problem: unknown = await strict.request(url, plain).catch((caught: unknown) => caught);
  expect(problem).toMatchObject({
    reason: "address-forbidden",
    message: `Cannot call ${url.host}: address-forbidden`,
  });
  expect(stage.connections.length).toBe(0);
});

test("an address that a stranger named is not reached, although it is listed", async () => {
  await using stage = await serve((_request, response) => void response.end("here"));
  const sentBy = new URL("https://stranger.test.example/");
  await expect(stage.outbound.request(stage.url("/"), { ...plain, sentBy })).rejects.toMatchObject({
    reason: "address-forbidden",
  });
  await using answer = await stage.outbound.request(stage.url("/"), { ...plain, sentBy: stage.url("/v2/") });
  expect((await answer.readWhole(10)).toString()).toBe("here");
});

test("a host without an address and a closed port are told apart", async () => {
  await using stage = await serve((_request, response) => void response.end());
  const closed = stage.url("/");
  await stage[Symbol.asyncDispose]();
  await using outbound = createOutbound({ privateHosts: ["127.0.0.1", "nowhere.invalid"] });
  await expect(outbound.request(closed, plain)).rejects.toMatchObject({ reason: "connection-refused" });
  const nowhere = new URL("http://nowhere.invalid/");
  await expect(outbound.request(nowhere, plain)).rejects.toMatchObject({ reason: "no-address" });
});

type Stage = AsyncDisposable & {
  readonly outbound: Outbound;
  readonly connections: readonly Socket[];
  url(path: string): URL;
  connected(count: number): Promise<void>;
  /** Until no connection is open. */
  closed(): Promise<void>;
};

async function serve(
  handle: (request: IncomingMessage, response: ServerResponse) => unknown,
): Promise<Stage> {
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

async function until(isSo: () => boolean): Promise<void> {
  for (let waited = 0; !isSo() && waited < 5000; waited += 5) await sleep(5);
  expect(isSo()).toBe(true);
}

/** Sends these bytes, whatever is asked, and hangs up. */
function serveRaw(answer: string): Promise<Stage> {
  return serve((request) => void request.socket.end(answer));
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
