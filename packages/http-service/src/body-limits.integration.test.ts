import { once } from "node:events";
import { connect } from "node:net";
import { expect, test } from "vitest";
import { BodyBudgetError, BodyError, createHttpService, jsonResponse, type Route } from "./index.ts";

const maxBodyBytes = 1000;
const maxLargeBytes = 2_000_000;

/** Responds when the test lets it. */
let gate = Promise.withResolvers<void>();
let waiting = 0;

const rows: readonly Route[] = [
  { method: "POST", path: "/small", handle: () => jsonResponse({ isAccepted: true }) },
  {
    method: "POST",
    path: "/large",
    maxBodyBytes: maxLargeBytes,
    handle: () => jsonResponse({ isAccepted: true }),
  },
  {
    method: "POST",
    path: "/waiting",
    maxBodyBytes: maxLargeBytes,
    handle: async () => {
      waiting += 1;
      await gate.promise;
      return jsonResponse({ isAccepted: true });
    },
  },
];

async function startService(maxBytesInFlight?: number) {
  const service = createHttpService({
    routes: rows,
    dependencies: undefined,
    authenticate: () => undefined,
    toErrorResponse: (error) => {
      if (error instanceof BodyBudgetError) return jsonResponse({ error: "busy" }, 503);
      return error instanceof BodyError
        ? jsonResponse({ error: error.reason }, 400)
        : jsonResponse({ error: String(error) }, 500);
    },
    recordRequest: () => undefined,
    maxBodyBytes,
    ...(maxBytesInFlight === undefined ? {} : { maxBytesInFlight }),
  });
  const { url } = await service.listen({ host: "127.0.0.1", port: 0 });
  return { url, [Symbol.asyncDispose]: () => service.close(1) };
}

async function post(url: string, body: string): Promise<unknown> {
  const response = await fetch(url, { method: "POST", body });
  return response.json();
}

const accepted = { isAccepted: true };

test("a row with a limit of its own accepts larger bodies than the others", async () => {
  await using server = await startService();
  const body = JSON.stringify("x".repeat(5000));
  expect(await post(`${server.url}/small`, body)).toEqual({ error: "too-large" });
  expect(await post(`${server.url}/large`, body)).toEqual(accepted);
  expect(await post(`${server.url}/large`, JSON.stringify("x".repeat(maxLargeBytes)))).toEqual({
    error: "too-large",
  });
});

test.each([
  ["nested 2,000 deep", `${"[".repeat(2000)}${"]".repeat(2000)}`, "too-deep"],
  ["nested 100 deep", `${"[".repeat(100)}${"]".repeat(100)}`, undefined],
  ["of 200,000 objects", `[${"{},".repeat(200_000)}{}]`, "too-complex"],
  ["of 20,000 objects", `[${"{},".repeat(20_000)}{}]`, undefined],
  ["of brackets in a string", JSON.stringify("[{".repeat(5000)), undefined],
])("a body %s is rejected before it is parsed, or accepted", async (_name, body, reason) => {
  await using server = await startService();
  expect(await post(`${server.url}/large`, body)).toEqual(
    reason === undefined ? accepted : { error: reason },
  );
});

const megabyte = 1_000_000;
const largeBody = JSON.stringify("x".repeat(0.7 * megabyte));

test("large bodies that wait for their response share a budget, and small ones always fit", async () => {
  await using server = await startService(1.5 * megabyte);
  gate = Promise.withResolvers();
  const first = post(`${server.url}/waiting`, largeBody);
  const second = post(`${server.url}/waiting`, largeBody);
  // A third one sent too early could take the place of the second.
  await expect.poll(() => waiting).toBe(2);
  expect(await post(`${server.url}/large`, largeBody)).toEqual({ error: "busy" });
  expect(await post(`${server.url}/large`, JSON.stringify("x".repeat(200_000)))).toEqual(accepted);
  gate.resolve();
  expect(await Promise.all([first, second])).toEqual([accepted, accepted]);
  expect(await post(`${server.url}/large`, largeBody)).toEqual(accepted);
});

test.each([
  ["with a length", `content-length: ${1.9 * megabyte}`],
  ["in chunks", "transfer-encoding: chunked"],
])("clients that announce large bodies %s and send nothing do not block others", async (_name, header) => {
  await using server = await startService(1.5 * megabyte);
  const sockets = await Promise.all(
    Array.from({ length: 10 }, async () => {
      const socket = connect(Number(new URL(server.url).port), "127.0.0.1");
      await once(socket, "connect");
      socket.write(`POST /large HTTP/1.1\r\nhost: localhost\r\n${header}\r\n\r\n`);
      return socket;
    }),
  );
  for (let sent = 0; sent < 5; sent += 1)
    expect(await post(`${server.url}/large`, largeBody)).toEqual(accepted);
  for (const socket of sockets) socket.destroy();
});

test("the bytes of a body are freed when its client disconnects before the end", async () => {
  await using server = await startService(1.5 * megabyte);
  const socket = connect(Number(new URL(server.url).port), "127.0.0.1");
  await once(socket, "connect");
  const size = megabyte.toString(16);
  socket.write("POST /large HTTP/1.1\r\nhost: localhost\r\ntransfer-encoding: chunked\r\n\r\n");
  socket.write(`${size}\r\n${"[".padEnd(megabyte, " ")}\r\n`);
  await expect.poll(() => post(`${server.url}/large`, largeBody)).toEqual({ error: "busy" });
  socket.destroy();
  await expect.poll(() => post(`${server.url}/large`, largeBody)).toEqual(accepted);
});
