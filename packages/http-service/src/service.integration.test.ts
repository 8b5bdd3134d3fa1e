import { execFile } from "node:child_process";
import { readFileSync } from "node:fs";
import { promisify } from "node:util";
import { expect, test } from "vitest";
import {
  type BufferedResponse,
  createHttpService,
  jsonResponse,
  type RequestRecord,
  type Route,
  RouteNotFoundError,
} from "./index.ts";

async function startService(
  routes: readonly Route[],
  changes: Partial<Parameters<typeof createHttpService>[0]> = {},
) {
  const records: RequestRecord[] = [];
  const service = createHttpService({
    routes,
    toErrorResponse: (error): BufferedResponse =>
      error instanceof RouteNotFoundError
        ? jsonResponse({ error: "no route" }, 404)
        : jsonResponse({ error: "other" }, 500),
    dependencies: undefined,
    authenticate: () => undefined,
    recordRequest: (record) => records.push(record),
    maxBodyBytes: 1000,
    ...changes,
  });
  const { url } = await service.listen({ host: "127.0.0.1", port: 0 });
  return {
    url,
    records,
    close: (graceSeconds: number) => service.close(graceSeconds),
    [Symbol.asyncDispose]: () => service.close(1),
  };
}

const greeting: Route = { method: "GET", path: "/greeting", handle: () => jsonResponse({ hello: "there" }) };

test("a request whose record cannot be kept is reported, and the server goes on", async () => {
  const errors: unknown[] = [];
  await using server = await startService([greeting], {
    recordRequest: () => {
      throw new Error("a counter cannot decrease");
    },
    onError: (error) => errors.push(error),
  });
  for (let request = 1; request <= 2; request += 1) {
    expect((await fetch(`${server.url}/greeting`)).status).toBe(200);
    await expect.poll(() => errors.length).toBe(request);
  }
});

test("a row handles its method and path, and the response has a request id", async () => {
  await using server = await startService([greeting]);
  const response = await fetch(`${server.url}/greeting`);
  expect(response.status).toBe(200);
  expect(await response.json()).toEqual({ hello: "there" });
  expect(response.headers.get("x-request-id")).toMatch(/^[0-9a-f-]{36}$/);
});

test("a GET row also handles HEAD, with the headers and no body", async () => {
  await using server = await startService([greeting]);
  const response = await fetch(`${server.url}/greeting`, { method: "HEAD" });
  expect(response.status).toBe(200);
  expect(response.headers.get("content-type")).toContain("application/json");
  expect(await response.text()).toBe("");
});

test("an unknown path becomes the program's own error response", async () => {
  await using server = await startService([greeting]);
  const response = await fetch(`${server.url}/nowhere`);
  expect(response.status).toBe(404);
  expect(await response.json()).toEqual({ error: "no route" });
});

test("an exception in a handler becomes the program's error response, and its message does not leak", async () => {
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
  expect(await response.text()).toBe('{"error":"other"}');
});

test("a body over the limit is rejected, a smaller one is read", async () => {
  const echo: Route = { method: "POST", path: "/echo", handle: (request) => jsonResponse(request.body) };
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

test("every request leaves one log record with the route pattern, not the client's path", async () => {
  await using server = await startService([{ ...greeting, path: "/things/:id" }]);
  await (await fetch(`${server.url}/things/canary-9?key=canary-9`)).text();
  await expect.poll(() => server.records).toHaveLength(1);
  expect(server.records[0]).toMatchObject({ route: "GET /things/:id", status: 200 });
  expect(JSON.stringify(server.records)).not.toContain("canary-9");
});

test("closing waits for running requests, and not for idle keep-alive connections", async () => {
  const slow: Route = {
    method: "GET",
    path: "/slow",
    handle: async () => {
      await new Promise((resolve) => setTimeout(resolve, 300));
      return jsonResponse("done");
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

test("a request that outlives the grace period is aborted, and its handler's signal fires", async () => {
  let isAborted = false;
  const endless: Route = {
    method: "GET",
    path: "/endless",
    handle: (request) =>
      new Promise((resolve) => {
        request.signal.addEventListener("abort", () => {
          isAborted = true;
          resolve(jsonResponse("late"));
        });
      }),
  };
  const server = await startService([endless]);
  const pending = fetch(`${server.url}/endless`).catch(() => "cut");
  await new Promise((resolve) => setTimeout(resolve, 100));
  await server.close(0.2);
  expect(await pending).toBe("cut");
  await expect.poll(() => isAborted).toBe(true);
});

test("thousands of connections that come at once wait in the kernel, and none is dropped", async () => {
  await using server = await startService([greeting]);
  const { stdout } = await promisify(execFile)("ss", ["-ltnH", `sport = :${new URL(server.url).port}`]);
  const [, , places] = stdout.trim().split(/\s+/u);
  const systemLimit = Number(readFileSync("/proc/sys/net/core/somaxconn", "utf8"));
  expect(Number(places)).toBe(Math.min(4096, systemLimit));
});
