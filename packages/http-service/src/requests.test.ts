import { once } from "node:events";
import { connect } from "node:net";
import { expect, test } from "vitest";
import {
  BodyProblem,
  type Call,
  type CallHead,
  createHttpService,
  jsonAnswer,
  NoSuchMethod,
  NoSuchRoute,
  type RequestRecord,
  type Route,
  streamBody,
  type Transport,
  type WholeAnswer,
} from "./index.ts";

const rows: readonly Route[] = [
  { method: "GET", path: "/thing", handle: ({ address }) => jsonAnswer({ address }) },
  { method: "POST", path: "/echo", handle: ({ body }) => jsonAnswer({ body: body ?? null }) },
  { method: "POST", path: "/bytes", body: "stream", handle: countBytes },
  { method: "GET", path: "/named/:name", handle: ({ parameters }) => jsonAnswer(parameters) },
];

async function countBytes(call: Call): Promise<WholeAnswer> {
  let bytes = 0;
  for await (const chunk of streamBody(call, { mostBytes: 1_000_000, idleSeconds: 0.3 })) {
    bytes += chunk.length;
  }
  return jsonAnswer({ bytes });
}

class Unadmitted extends Error {}

function nameProblem(problem: unknown): [number, string] {
  if (problem instanceof Unadmitted) return [401, "not admitted"];
  if (problem instanceof NoSuchRoute) return [404, "no route"];
  if (problem instanceof NoSuchMethod) return [405, problem.allowed.join(" ")];
  return problem instanceof BodyProblem ? [400, problem.reason] : [500, "other"];
}

async function startService(transport: Transport = {}) {
  const records: RequestRecord[] = [];
  const heads: CallHead[] = [];
  const service = createHttpService({
    routes: rows,
    admit: (head, row) => {
      heads.push(head);
      head.note({ row: row?.path ?? "none" });
      if (head.headers["x-key"] !== "right") throw new Unadmitted();
    },
    answerFailure: (problem) => {
      const [status, text] = nameProblem(problem);
      return jsonAnswer({ problem: text }, status);
    },
    recordRequest: (record) => records.push(record),
    mostBodyBytes: 1000,
    ...transport,
  });
  const { url } = await service.listen({ host: "127.0.0.1", port: 0 });
  return { url, records, heads, [Symbol.asyncDispose]: () => service.close(0.2) };
}

const key = { "x-key": "right" };

async function ask(url: string, options: RequestInit & { readonly duplex?: "half" } = {}) {
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

test("a method that a path does not have is answered by naming those it has", async () => {
  await using server = await startService();
  expect(await ask(`${server.url}/thing`, { method: "POST", body: "{" })).toEqual([
    405,
    { problem: "GET HEAD" },
  ]);
  expect(await ask(`${server.url}/echo`)).toEqual([405, { problem: "POST" }]);
  expect((await fetch(`${server.url}/echo`, { method: "HEAD", headers: key })).status).toBe(405);
  expect((await ask(`${server.url}/thing`))[0]).toBe(200);
});

test("admission is decided before a body is read, on rows, other methods, unknown paths and broken ones", async () => {
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

test("a path that cannot be read is one that does not exist, and what it was is not repeated", async () => {
  await using server = await startService();
  expect(await ask(`${server.url}/canary-%zz`)).toEqual([404, { problem: "no route" }]);
  expect(await ask(`${server.url}/named/${"x".repeat(2000)}`)).toEqual([404, { problem: "no route" }]);
  expect(await ask(`${server.url}/named/x`)).toEqual([200, { name: "x" }]);
});

test("a whole address in place of a path is answered as a path that does not exist", async () => {
  await using server = await startService();
  const rest = "HTTP/1.1\r\nhost: localhost\r\nx-key: right\r\nconnection: close\r\n\r\n";
  expect(await sendRaw(server.url, `GET http://evil.com/thing ${rest}`)).toMatch(/^HTTP\/1\.1 404 /);
  expect(await sendRaw(server.url, `GET /thing ${rest}`)).toMatch(/^HTTP\/1\.1 200 /);
});

test("a header that came twice is a list, so that nothing is decided on the first alone", async () => {
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
])("a body is JSON when its type is said to be %j", async (type) => {
  await using server = await startService();
  const headers = { ...key, "content-type": type };
  expect(await ask(`${server.url}/echo`, { method: "POST", body: '{"a":1}', headers })).toEqual([
    200,
    { body: { a: 1 } },
  ]);
});

test("a body without any type is JSON too, and one that is empty is none", async () => {
  await using server = await startService();
  const head = "POST /echo HTTP/1.1\r\nhost: localhost\r\nx-key: right\r\nconnection: close\r\n";
  expect(await sendRaw(server.url, `${head}content-length: 7\r\n\r\n{"a":1}`)).toContain('{"body":{"a":1}}');
  expect(await sendRaw(server.url, `${head}content-length: 2\r\n\r\n \n`)).toContain('{"body":null}');
  expect(await sendRaw(server.url, `${head}\r\n`)).toContain('{"body":null}');
});

test.each([
  ["is no JSON", "{", "malformed"],
  ["would change what objects are", '{"__proto__":{"a":1}}', "malformed"],
  ["would change it by their constructor", '{"constructor":{"prototype":{"a":1}}}', "malformed"],
  ["is over the limit", JSON.stringify("x".repeat(2000)), "too-large"],
])("a body that %s is refused by that name", async (_what, body, reason) => {
  await using server = await startService();
  expect(await ask(`${server.url}/echo`, { method: "POST", body })).toEqual([400, { problem: reason }]);
});

test("a body over the limit is refused also when it comes in chunks of unknown number", async () => {
  await using server = await startService();
  const body = new Blob(["[1", ",1".repeat(1000), "]"]).stream();
  expect(await ask(`${server.url}/echo`, { method: "POST", body, duplex: "half" })).toEqual([
    400,
    { problem: "too-large" },
  ]);
});

test("a row that asks for a stream reads more than the limit of the others, whatever its type", async () => {
  await using server = await startService();
  const headers = { ...key, "content-type": "application/json" };
  const options = { method: "POST", body: "x".repeat(50_000), headers };
  expect(await ask(`${server.url}/bytes`, options)).toEqual([200, { bytes: 50_000 }]);
});

test("what is no HTTP gets a bare status, and the server goes on", async () => {
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
  expect((await ask(`${server.url}/thing`))[0]).toBe(200);
});

test("who calls is told by a proxy only when that proxy is trusted", async () => {
  const headers = { ...key, "x-forwarded-for": "198.51.100.7, 203.0.113.5" };
  await using alone = await startService();
  expect(await ask(`${alone.url}/thing`, { headers })).toEqual([200, { address: "127.0.0.1" }]);
  await using other = await startService({ trustedProxies: ["10.0.0.0/8"] });
  expect(await ask(`${other.url}/thing`, { headers })).toEqual([200, { address: "127.0.0.1" }]);
  await using behind = await startService({ trustedProxies: ["127.0.0.0/8"] });
  expect(await ask(`${behind.url}/thing`, { headers })).toEqual([200, { address: "203.0.113.5" }]);
  await using chain = await startService({ trustedProxies: ["127.0.0.1", "203.0.113.5"] });
  expect(await ask(`${chain.url}/thing`, { headers })).toEqual([200, { address: "198.51.100.7" }]);
});
