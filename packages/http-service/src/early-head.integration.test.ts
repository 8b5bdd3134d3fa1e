import { setTimeout as sleep } from "node:timers/promises";
import { expect, test } from "vitest";
import {
  createHttpService,
  type HttpRequest,
  jsonResponse,
  type RequestRecord,
  type Transport,
} from "./index.ts";

async function startSlow(transport: Transport) {
  const finish = Promise.withResolvers<void>();
  const records: RequestRecord[] = [];
  const service = createHttpService({
    routes: [
      {
        method: "POST",
        path: "/slow",
        handle: async ({ body }: HttpRequest) => {
          await finish.promise;
          if (body === "fail") throw new Error("canary");
          return jsonResponse({ said: "hello" });
        },
      },
      { method: "POST", path: "/quick", handle: () => jsonResponse({ said: "at once" }, 201) },
    ],
    maxBodyBytes: 1000,
    toErrorResponse: () => jsonResponse({ error: "failed" }, 500),
    dependencies: undefined,
    authenticate: () => undefined,
    recordRequest: (record) => records.push(record),
    ...transport,
  });
  const { url } = await service.listen({ host: "127.0.0.1", port: 0 });
  return { url, records, finish: finish.resolve, [Symbol.asyncDispose]: () => service.close(0.2) };
}

const post = (url: string, body: string) => fetch(url, { method: "POST", body: JSON.stringify(body) });

test("long non-stream runs die at 300 s in Node clients: early headers arrive in time, and the body later", async () => {
  await using server = await startSlow({ earlyHeadMilliseconds: 50 });
  const response = await post(`${server.url}/slow`, "go on");
  expect([response.status, response.headers.get("content-type")]).toEqual([
    200,
    "application/json; charset=utf-8",
  ]);
  expect(response.headers.get("x-request-id")).not.toBeNull();
  server.finish();
  const text = await response.text();
  expect(text).toBe(' {"said":"hello"}');
  expect(JSON.parse(text)).toEqual({ said: "hello" });
  expect((await post(`${server.url}/quick`, "")).status).toBe(201);
  await expect.poll(() => server.records.map(({ status }) => status)).toEqual([200, 201]);
});

test("an error after early headers is sent in the body; an error before them has its own status", async () => {
  await using early = await startSlow({ earlyHeadMilliseconds: 50 });
  const response = await post(`${early.url}/slow`, "fail");
  early.finish();
  expect([response.status, JSON.parse(await response.text())]).toEqual([200, { error: "failed" }]);
  await using patient = await startSlow({ earlyHeadMilliseconds: 60_000 });
  patient.finish();
  expect((await post(`${patient.url}/slow`, "fail")).status).toBe(500);
});

test("without early headers nothing is sent before the handler finishes", async () => {
  await using server = await startSlow({});
  let hasHead = false;
  const pending = post(`${server.url}/slow`, "fail").then((response) => {
    hasHead = true;
    return response.status;
  });
  await sleep(200);
  expect(hasHead).toBe(false);
  server.finish();
  expect(await pending).toBe(500);
});
