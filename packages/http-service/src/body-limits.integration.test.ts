import { once } from "node:events";
import { connect } from "node:net";
import { expect, test } from "vitest";
import { BodyBudgetError, BodyError, createHttpService, jsonResponse, type Route } from "./index.ts";

const maxBodyBytes = 1000;
const maxLargeBytes = 2_000_000;

/** Responds when the test lets it. */
let gate = Promise.withResolvers<void>();

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
    handle: async () => {
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

test("bodies that wait for their response share a budget, and one that does not fit is rejected", async () => {
  await using server = await startService(1500);
  gate = Promise.withResolvers();
  const body = JSON.stringify("x".repeat(700));
  const first = post(`${server.url}/waiting`, body);
  const second = post(`${server.url}/waiting`, body);
  await expect.poll(() => post(`${server.url}/small`, body)).toEqual({ error: "busy" });
  expect(await post(`${server.url}/small`, "[1]")).toEqual(accepted);
  gate.resolve();
  expect(await Promise.all([first, second])).toEqual([accepted, accepted]);
  expect(await post(`${server.url}/small`, body)).toEqual(accepted);
});

test("a chunked body is counted with the limit of its row, and freed when its client disconnects", async () => {
  await using server = await startService(1500);
  const socket = connect(Number(new URL(server.url).port), "127.0.0.1");
  await once(socket, "connect");
  socket.write("POST /small HTTP/1.1\r\nhost: localhost\r\ntransfer-encoding: chunked\r\n\r\n1\r\n[\r\n");
  const body = JSON.stringify("x".repeat(700));
  await expect.poll(() => post(`${server.url}/small`, body)).toEqual({ error: "busy" });
  socket.destroy();
  await expect.poll(() => post(`${server.url}/small`, body)).toEqual(accepted);
});
