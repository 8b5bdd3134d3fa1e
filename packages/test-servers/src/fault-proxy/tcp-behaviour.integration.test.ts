import { once } from "node:events";
import { connect, createServer, type Socket } from "node:net";
import { buffer } from "node:stream/consumers";
import { expect, test } from "vitest";
import { listenOnLoopback } from "../loopback-port.ts";
import { startFaultProxy } from "./start-fault-proxy.ts";

test("a client that half-closes its connection still receives the response", async () => {
  await using target = await serve(async (socket) => {
    const request = await buffer(socket);
    socket.end(`received ${request.toString()}`);
  });
  await using proxy = await startFaultProxy({ target: target.url });

  const client = connect({ port: proxy.port, host: "127.0.0.1", allowHalfOpen: true });
  client.end("hello");

  expect((await buffer(client)).toString()).toBe("received hello");
});

test("a client that does not read stops the target from sending", async () => {
  await using target = await serve((socket) => {
    const chunk = Buffer.alloc(64 * 1024);
    const send = (): void => {
      while (socket.write(chunk));
    };
    socket.on("drain", send);
    send();
  });
  await using proxy = await startFaultProxy({ target: target.url });
  const client = connect({ port: proxy.port, host: "127.0.0.1" });
  await once(client, "connect");

  const stopped = await untilSteady(() => proxy.counts().bytesToClient);
  expect(stopped).toBeLessThan(64 * 1024 * 1024);
  client.resume();
  await untilAbove(() => proxy.counts().bytesToClient, stopped);
  client.destroy();
});

test("a clean close reaches a client that is still uploading, and its upload is read to the end", async () => {
  await using target = await serve((socket) => {
    socket.on("end", () => socket.end()).resume();
    socket.write("0123456789");
  });
  await using proxy = await startFaultProxy({
    target: target.url,
    faults: [{ kind: "cut", afterBytes: 5, how: "close" }],
  });
  const client = connect({ port: proxy.port, host: "127.0.0.1", allowHalfOpen: true });
  client.write("begin");

  expect((await buffer(client)).toString()).toBe("01234");

  // More than the buffers along the path can hold.
  client.end(Buffer.alloc(20_000_000));
  await once(client, "close");
  await untilAbove(() => -proxy.counts().openConnections, -1);
});

test("a delay on the way to the target leaves other protocols unchanged", async () => {
  await using target = await serve((socket) => socket.pipe(socket));
  await using proxy = await startFaultProxy({
    target: target.url,
    faults: [{ kind: "delay", milliseconds: 150, direction: "to-target" }],
  });
  const client = connect({ port: proxy.port, host: "127.0.0.1", allowHalfOpen: true });
  const start = performance.now();
  client.end(Buffer.from([0, 1, 2, 255]));

  expect(await buffer(client)).toEqual(Buffer.from([0, 1, 2, 255]));
  expect(performance.now() - start).toBeGreaterThan(145);
});

test("a head that arrives byte by byte is still parsed", async () => {
  await using target = await serveInTwoChunks();
  await using proxy = await startFaultProxy({
    target: target.url,
    faults: [{ kind: "flip-bit", bodyByte: 0 }],
  });
  const client = sendRequest(proxy.port);

  (await target.afterFirstChunk)();

  expect((await buffer(client)).toString()).toBe(`${head}cody`);
});

test("a head that is held back survives a change of faults", async () => {
  await using target = await serveInTwoChunks();
  await using proxy = await startFaultProxy({
    target: target.url,
    faults: [{ kind: "flip-bit", bodyByte: 0 }],
  });
  const client = sendRequest(proxy.port);

  const sendRest = await target.afterFirstChunk;
  await pause(50);
  expect(proxy.counts().bytesToClient).toBe(0);
  await proxy.setFaults([{ kind: "lie-about-length", addBytes: 3 }]);
  sendRest();

  expect((await buffer(client)).toString()).toBe(`${head.replace("4", "7")}body`);
});

test("a client is reset when the target is down", async () => {
  const target = await serve(() => undefined);
  await target[Symbol.asyncDispose]();
  await using proxy = await startFaultProxy({ target: target.url });
  const client = connect({ port: proxy.port, host: "127.0.0.1" });

  await expect(buffer(client)).rejects.toThrow("ECONNRESET");
});

test("a stopped proxy leaves no port and no connection on either side", async () => {
  const sockets: Socket[] = [];
  await using target = await serve((socket) => {
    sockets.push(socket);
    socket.on("end", () => socket.end()).resume();
  });
  const proxy = await startFaultProxy({ target: target.url, faults: [{ kind: "stall", afterBytes: 0 }] });
  const client = connect({ port: proxy.port, host: "127.0.0.1" });
  await untilAbove(() => sockets.length, 0);
  const closed = Promise.all([once(client, "close"), ...sockets.map((socket) => once(socket, "close"))]);
  client.resume();

  await proxy[Symbol.asyncDispose]();

  await closed;
  expect(proxy.counts().openConnections).toBe(0);
  await expect(once(connect({ port: proxy.port, host: "127.0.0.1" }), "connect")).rejects.toThrow(
    "ECONNREFUSED",
  );
});

const head = "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\n";

function sendRequest(port: number): Socket {
  const client = connect({ port, host: "127.0.0.1" });
  client.write("GET / HTTP/1.1\r\n\r\n");
  return client;
}

async function serveInTwoChunks() {
  const { promise, resolve } = Promise.withResolvers<() => void>();
  const target = await serve(async (socket) => {
    await once(socket, "data");
    for (const byte of head.slice(0, 20)) {
      socket.write(byte);
      await pause(2);
    }
    resolve(() => socket.end(`${head.slice(20)}body`));
  });
  return { ...target, afterFirstChunk: promise };
}

async function serve(
  handle: (socket: Socket) => unknown,
): Promise<AsyncDisposable & { readonly url: string }> {
  const sockets = new Set<Socket>();
  const server = createServer({ allowHalfOpen: true }, (socket) => {
    sockets.add(socket);
    socket.on("error", () => undefined);
    void handle(socket);
  });
  const port = await listenOnLoopback(server);
  return {
    url: `tcp://127.0.0.1:${port}`,
    async [Symbol.asyncDispose]() {
      server.close();
      for (const socket of sockets) socket.destroy();
      await once(server, "close");
    },
  };
}

async function untilSteady(read: () => number): Promise<number> {
  let last = -1;
  while (read() !== last || last === 0) {
    last = read();
    await pause(150);
  }
  return last;
}

async function untilAbove(read: () => number, limit: number): Promise<void> {
  while (read() <= limit) await pause(5);
}

function pause(milliseconds: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, milliseconds));
}
