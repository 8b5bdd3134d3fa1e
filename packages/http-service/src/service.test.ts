import { expect, test } from "vitest";
import {
  createHttpService,
  jsonAnswer,
  NoSuchRoute,
  type RequestRecord,
  type Route,
  type WholeAnswer,
} from "./index.ts";

async function startService(routes: readonly Route[]) {
  const records: RequestRecord[] = [];
  const service = createHttpService({
    routes,
    answerFailure: (problem): WholeAnswer =>
      problem instanceof NoSuchRoute
        ? jsonAnswer({ problem: "no route" }, 404)
        : jsonAnswer({ problem: "other" }, 500),
    recordRequest: (record) => records.push(record),
    mostBodyBytes: 1000,
  });
  const { url } = await service.listen({ host: "127.0.0.1", port: 0 });
  return {
    url,
    records,
    close: (graceSeconds: number) => service.close(graceSeconds),
    [Symbol.asyncDispose]: () => service.close(1),
  };
}

const greeting: Route = { method: "GET", path: "/greeting", handle: () => jsonAnswer({ hello: "there" }) };

test("a row answers its method and path, with a request id", async () => {
  await using server = await startService([greeting]);
  const response = await fetch(`${server.url}/greeting`);
  expect(response.status).toBe(200);
  expect(await response.json()).toEqual({ hello: "there" });
  expect(response.headers.get("x-request-id")).toMatch(/^[0-9a-f-]{36}$/);
});

test("a GET row also answers HEAD, with the headers and no body", async () => {
  await using server = await startService([greeting]);
  const response = await fetch(`${server.url}/greeting`, { method: "HEAD" });
  expect(response.status).toBe(200);
  expect(response.headers.get("content-type")).toContain("application/json");
  expect(await response.text()).toBe("");
});

test("what matches no row is answered by the program's own words", async () => {
  await using server = await startService([greeting]);
  const response = await fetch(`${server.url}/nowhere`);
  expect(response.status).toBe(404);
  expect(await response.json()).toEqual({ problem: "no route" });
});

test("a handler that throws is answered by the program and nothing of the error leaks", async () => {
  const broken: Route = {
    method: "GET",
    path: "/broken",
    handle: () => {
      throw new Error("canary /etc/passwd");
    },
  };
  await using server = await startService([broken]);
  const response = await fetch(`${server.url}/broken`);
  expect(response.status).toBe(500);
  expect(await response.text()).toBe('{"problem":"other"}');
});

test("a body over the limit is refused, one under it is read", async () => {
  const echo: Route = { method: "POST", path: "/echo", handle: (call) => jsonAnswer(call.body) };
  await using server = await startService([echo]);
  const send = (body: unknown) =>
    fetch(`${server.url}/echo`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify(body),
    });
  expect(await (await send("short")).json()).toBe("short");
  expect((await send("x".repeat(2000))).status).toBe(500);
});

test("every request leaves one record that names the row, not the caller's text", async () => {
  await using server = await startService([{ ...greeting, path: "/things/:id" }]);
  await (await fetch(`${server.url}/things/canary-9?key=canary-9`)).text();
  await expect.poll(() => server.records).toHaveLength(1);
  expect(server.records[0]).toMatchObject({ route: "GET /things/:id", status: 200 });
  expect(JSON.stringify(server.records)).not.toContain("canary-9");
});

test("closing lets a running request finish and then ends at once, kept-alive connections or not", async () => {
  const slow: Route = {
    method: "GET",
    path: "/slow",
    handle: async () => {
      await new Promise((resolve) => setTimeout(resolve, 300));
      return jsonAnswer("done");
    },
  };
  const server = await startService([slow]);
  const pending = fetch(`${server.url}/slow`);
  await new Promise((resolve) => setTimeout(resolve, 100));
  const startedAt = performance.now();
  await server.close(20);
  expect(await (await pending).json()).toBe("done");
  expect(performance.now() - startedAt).toBeLessThan(5000);
});

test("a request that outlives the grace is cut, and its handler is told", async () => {
  let isTold = false;
  const endless: Route = {
    method: "GET",
    path: "/endless",
    handle: (call) =>
      new Promise((resolve) => {
        call.signal.addEventListener("abort", () => {
          isTold = true;
          resolve(jsonAnswer("late"));
        });
      }),
  };
  const server = await startService([endless]);
  const pending = fetch(`${server.url}/endless`).catch(() => "cut");
  await new Promise((resolve) => setTimeout(resolve, 100));
  await server.close(0.2);
  expect(await pending).toBe("cut");
  await expect.poll(() => isTold).toBe(true);
});
