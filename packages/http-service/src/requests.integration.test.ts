import { once } from "node:events";
import { connect } from "node:net";
import { expect, test } from "vitest";
import {
  BodyError,
  type BufferedResponse,
  createHttpService,
  type HttpRequest,
  jsonResponse,
  MethodNotAllowedError,
  type RequestHead,
  type RequestRecord,
  type Route,
  RouteNotFoundError,
  streamBody,
  type Transport,
} from "./index.ts";

const rows: readonly Route[] = [
  { method: "GET", path: "/thing", handle: ({ clientAddress }) => jsonResponse({ clientAddress }) },
  { method: "POST", path: "/echo", handle: ({ body }) => jsonResponse({ body: body ?? null }) },
  { method: "POST", path: "/bytes", body: "stream", handle: countBytes },
  { method: "GET", path: "/noted", handle: addNotes },
  { method: "GET", path: "/named/:name", handle: ({ parameters }) => jsonResponse(parameters) },
];

function addNotes({ addResponseHeaders }: HttpRequest): BufferedResponse {
  for (const note of ["first", "second", "first"]) addResponseHeaders({ "x-notes": note });
  return jsonResponse({});
}

async function countBytes(request: HttpRequest): Promise<BufferedResponse> {
  let bytes = 0;
  for await (const chunk of streamBody(request, { maxBytes: 1_000_000, idleSeconds: 0.3 })) {
    bytes += chunk.length;
  }
  return jsonResponse({ bytes });
}

class UnauthenticatedError extends Error {}

function describeError(error: unknown): [number, string] {
  if (error instanceof UnauthenticatedError) return [401, "unauthenticated"];
  if (error instanceof RouteNotFoundError) return [404, "no route"];
  if (error instanceof MethodNotAllowedError) return [405, error.allowed.join(" ")];
  return error instanceof BodyError ? [400, error.reason] : [500, "other"];
}

async function startService(transport: Transport = {}) {
  const records: RequestRecord[] = [];
  const heads: RequestHead[] = [];
  const service = createHttpService({
    routes: rows,
    authenticate: (head, row) => {
      heads.push(head);
      head.addLogFields({ row: row?.path ?? "none" });
      if (head.headers["x-key"] !== "right") throw new UnauthenticatedError();
    },
    toErrorResponse: (error) => {
      const [status, text] = describeError(error);
      return jsonResponse({ error: text }, status);
    },
    dependencies: undefined,
    recordRequest: (record) => records.push(record),
    maxBodyBytes: 1000,
    ...transport,
  });
  const { url } = await service.listen({ host: "127.0.0.1", port: 0 });
  return { url, records, heads, [Symbol.asyncDispose]: () => service.close(0.2) };
}

const key = { "x-key": "right" };

async function sendRequest(url: string, options: RequestInit & { readonly duplex?: "half" } = {}) {
  const response = await fetch(url, { headers: key, ...options });
  const text = await response.text();
  return [response.status, text === "" ? undefined : JSON.parse(text)];
}

/** Bytes on a socket, for what `fetch` would tidy up. */
async function sendRaw(url: string, text: string): Promise<string> {
  const socket = connect(Number(new URL(url).port), "127.0.0.1");
  let received = "";
  socket.on("data", (chunk: Buffer) => {
    received += chunk.toString("latin1");
  });
  socket.write(text);
  await once(socket, "close");
  return received;
}

test("a method that a path does not have is rejected with the methods it has", async () => {
  await using server = await startService();
  expect(await sendRequest(`${server.url}/thing`, { method: "POST", body: "{" })).toEqual([
    405,
    { error: "GET HEAD" },
  ]);
  expect(await sendRequest(`${server.url}/echo`)).toEqual([405, { error: "POST" }]);
  expect((await fetch(`${server.url}/echo`, { method: "HEAD", headers: key })).status).toBe(405);
  expect((await sendRequest(`${server.url}/thing`))[0]).toBe(200);
});

test("requests are authenticated before their body is read, on known, unknown and malformed paths", async () => {
  await using server = await startService();
  const head = "HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\ncontent-length: 999999999\r\n";
  const paths = ["POST /echo", "PUT /echo", "POST /nowhere", "POST /%zz", `POST /named/${"x".repeat(2000)}`];
  for (const path of paths) {
    expect(await sendRaw(server.url, `${path} ${head}\r\n`)).toMatch(/^HTTP\/1\.1 401 /);
  }
  const admitted = `POST /nowhere ${head}x-key: right\r\n\r\n`;
  expect(await sendRaw(server.url, admitted)).toMatch(/^HTTP\/1\.1 404 /);
  await expect.poll(() => server.records).toHaveLength(paths.length + 1);
  expect(server.records.map(({ row }) => row)).toEqual(["/echo", "/echo", "none", "none", "none", "none"]);
});

test("a malformed or overlong path is not found, and is not echoed", async () => {
  await using server = await startService();
  expect(await sendRequest(`${server.url}/canary-%zz`)).toEqual([404, { error: "no route" }]);
  expect(await sendRequest(`${server.url}/named/${"x".repeat(2000)}`)).toEqual([404, { error: "no route" }]);
  expect(await sendRequest(`${server.url}/named/x`)).toEqual([200, { name: "x" }]);
});

test("an absolute URL as the request target is not found", async () => {
  await using server = await startService();
  const rest = "HTTP/1.1\r\nhost: localhost\r\nx-key: right\r\nconnection: close\r\n\r\n";
  expect(await sendRaw(server.url, `GET http://evil.com/thing ${rest}`)).toMatch(/^HTTP\/1\.1 404 /);
  expect(await sendRaw(server.url, `GET /thing ${rest}`)).toMatch(/^HTTP\/1\.1 200 /);
});

test("a repeated header is a list, so that access checks see every value", async () => {
  await using server = await startService();
  const twice = "host: one\r\nhost: two\r\nauthorization: a\r\nauthorization: b\r\nx-key: right\r\n";
  await sendRaw(server.url, `GET /thing HTTP/1.1\r\n${twice}connection: close\r\n\r\n`);
  expect(server.heads[0]?.headers).toMatchObject({ host: ["one", "two"], authorization: ["a", "b"] });
  expect(server.heads[0]?.headers["x-key"]).toBe("right");
});

test.each([
  "application/json",
  "application/x-www-form-urlencoded",
  "text/plain; charset=utf-16",
  "multipart/form-data",
  "nonsense",
  "a/b/c;;=",
  "",
])("a body is parsed as JSON when its content type is %j", async (type) => {
  await using server = await startService();
  const headers = { ...key, "content-type": type };
  expect(await sendRequest(`${server.url}/echo`, { method: "POST", body: '{"a":1}', headers })).toEqual([
    200,
    { body: { a: 1 } },
  ]);
});

test("a body without a content type is parsed as JSON, and an empty body is no body", async () => {
  await using server = await startService();
  const head = "POST /echo HTTP/1.1\r\nhost: localhost\r\nx-key: right\r\nconnection: close\r\n";
  expect(await sendRaw(server.url, `${head}content-length: 7\r\n\r\n{"a":1}`)).toContain('{"body":{"a":1}}');
  expect(await sendRaw(server.url, `${head}content-length: 2\r\n\r\n \n`)).toContain('{"body":null}');
  expect(await sendRaw(server.url, `${head}\r\n`)).toContain('{"body":null}');
});

test.each([
  ["is not JSON", "{", "malformed"],
  ["sets a prototype", '{"__proto__":{"a":1}}', "malformed"],
  ["sets a prototype through a constructor", '{"constructor":{"prototype":{"a":1}}}', "malformed"],
  ["exceeds the limit", JSON.stringify("x".repeat(2000)), "too-large"],
])("a body that %s is rejected with its reason", async (_what, body, reason) => {
  await using server = await startService();
  expect(await sendRequest(`${server.url}/echo`, { method: "POST", body })).toEqual([400, { error: reason }]);
});

test("the body limit also applies to chunked bodies without a length", async () => {
  await using server = await startService();
  const body = new Blob(["[1", ",1".repeat(1000), "]"]).stream();
  expect(await sendRequest(`${server.url}/echo`, { method: "POST", body, duplex: "half" })).toEqual([
    400,
    { error: "too-large" },
  ]);
});

test("a stream row may read more than the body limit, whatever its content type", async () => {
  await using server = await startService();
  const headers = { ...key, "content-type": "application/json" };
  const options = { method: "POST", body: "x".repeat(50_000), headers };
  expect(await sendRequest(`${server.url}/bytes`, options)).toEqual([200, { bytes: 50_000 }]);
});

test("malformed HTTP gets a bare status, and the server keeps serving", async () => {
  await using server = await startService();
  expect(await sendRaw(server.url, "hello\r\n\r\n")).toMatch(/^HTTP\/1\.1 400 /);
  const many = `x-many: ${"x".repeat(20_000)}`;
  expect(await sendRaw(server.url, `GET /thing HTTP/1.1\r\nhost: a\r\n${many}\r\n\r\n`)).toMatch(
    /^HTTP\/1\.1 431 /,
  );
  const both = "content-length: 3\r\ntransfer-encoding: chunked\r\n";
  expect(await sendRaw(server.url, `POST /echo HTTP/1.1\r\nhost: a\r\n${both}\r\n0\r\n\r\n`)).toMatch(
    /^HTTP\/1\.1 400 /,
  );
  expect((await sendRequest(`${server.url}/thing`))[0]).toBe(200);
});

test("X-Forwarded-For is believed only from trusted proxies", async () => {
  const headers = { ...key, "x-forwarded-for": "198.51.100.7, 203.0.113.5" };
  await using alone = await startService();
  expect(await sendRequest(`${alone.url}/thing`, { headers })).toEqual([200, { clientAddress: "127.0.0.1" }]);
  await using other = await startService({ trustedProxies: ["10.0.0.0/8"] });
  expect(await sendRequest(`${other.url}/thing`, { headers })).toEqual([200, { clientAddress: "127.0.0.1" }]);
  await using behind = await startService({ trustedProxies: ["127.0.0.0/8"] });
  expect(await sendRequest(`${behind.url}/thing`, { headers })).toEqual([
    200,
    { clientAddress: "203.0.113.5" },
  ]);
  await using chain = await startService({ trustedProxies: ["127.0.0.1", "203.0.113.5"] });
  expect(await sendRequest(`${chain.url}/thing`, { headers })).toEqual([
    200,
    { clientAddress: "198.51.100.7" },
  ]);
});

test("values that are added to one response header are joined, each once", async () => {
  await using service = await startService();
  const response = await fetch(`${service.url}/noted`, { headers: key });
  expect(response.headers.get("x-notes")).toBe("first, second");
});
