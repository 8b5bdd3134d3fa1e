import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { expect, test } from "vitest";
import { serveOnLoopback } from "./loopback-server.ts";

test("the end of the scope closes idle and busy connections and frees the port", async () => {
  const { promise: arrived, resolve: arrive } = Promise.withResolvers<void>();
  const server = await serveOnLoopback(async (request) => {
    arrive();
    if (request.url === "/never") await new Promise(() => undefined);
  });
  const silent = await openSocket(server.port);
  const busy = await openSocket(server.port);
  busy.write("GET /never HTTP/1.1\r\nHost: loopback\r\n\r\n");
  await arrived;
  const cut = Promise.all([whenClosed(silent), whenClosed(busy)]);
  await server[Symbol.asyncDispose]();
  expect(await cut).toEqual(["closed", "closed"]);
  await expect(openSocket(server.port)).rejects.toThrow("ECONNREFUSED");
  await server[Symbol.asyncDispose]();
});

test("a handler that throws causes a 500 with its message, and the next request works", async () => {
  await using server = await serveOnLoopback((request, response) => {
    if (request.url === "/broken") throw new Error("it broke");
    response.end("ok");
  });
  const broken = await fetch(`${server.origin}/broken`);
  expect([broken.status, await broken.text()]).toEqual([500, "Error: it broke"]);
  expect(await (await fetch(`${server.origin}/working`)).text()).toBe("ok");
});

async function openSocket(port: number): Promise<Socket> {
  const socket = connect(port, "127.0.0.1");
  await once(socket, "connect");
  socket.on("error", () => undefined);
  return socket;
}

function whenClosed(socket: Socket): Promise<string> {
  socket.resume();
  return new Promise((resolve) => socket.once("close", () => resolve("closed")));
}
