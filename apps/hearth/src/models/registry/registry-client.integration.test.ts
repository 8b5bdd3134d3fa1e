import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { createOutbound, type Outbound } from "@hearth-and-keep/outbound-http";
import { startModelRegistry } from "@hearth-and-keep/test-servers";
import { expect, test } from "vitest";
import type { Credential } from "./credentials.ts";
import { openRegistry, type Registry } from "./registry-client.ts";

const { signal } = new AbortController();
const privateHosts = ["127.0.0.1"];

function open(address: string, outbound: Outbound, credential?: Credential): Registry {
  const { host } = new URL(address);
  const credentials = { forHost: (requested: string) => (requested === host ? credential : undefined) };
  return openRegistry({ host, repository: "team/model", isPlainHttp: true }, { outbound, credentials });
}

test.for(["open", "basic", "token"] as const)(
  "an account with its password can push to a registry with %s authentication",
  async (authentication) => {
    await using registry = await startModelRegistry({ authentication });
    await using outbound = createOutbound({ privateHosts });
    const account = open(registry.url, outbound, { kind: "basic", ...registry.account });
    await using begun = await account.request({
      method: "POST",
      target: "blobs/uploads/",
      actions: "pull,push",
      signal,
    });
    expect(begun.status).toBe(202);
    await using again = await account.request({ target: "tags/list", signal });
    expect(again.status).toBe(404);
  },
);

test.for(["basic", "token"] as const)(
  "pushing without the password fails on a registry with %s authentication",
  async (authentication) => {
    await using registry = await startModelRegistry({ authentication });
    await using outbound = createOutbound({ privateHosts });
    const request = { method: "POST", target: "blobs/uploads/", actions: "pull,push", signal } as const;
    const refusal = { failure: { kind: "registry-refused", status: 401 } };
    await expect(open(registry.url, outbound).request(request)).rejects.toMatchObject(refusal);
    const wrong = { kind: "basic", name: registry.account.name, password: "wrong" } as const;
    await expect(open(registry.url, outbound, wrong).request(request)).rejects.toMatchObject(refusal);
  },
);

test("an expired token is renewed, and the body is sent again with the new one", async () => {
  const seen: string[] = [];
  let tokens = 0;
  await using server = await serve(async (request, response) => {
    if (request.url?.startsWith("/token") === true) {
      tokens += 1;
      response.end(JSON.stringify({ token: `t${tokens}` }));
      return;
    }
    const { authorization } = request.headers;
    seen.push(`${authorization}: ${await readBody(request)}`);
    const isRight = authorization === `Bearer t${Math.max(1, tokens)}` && seen.length !== 3;
    const challenge = `Bearer realm="${server.url}/token"`;
    response.writeHead(isRight ? 200 : 401, { "www-authenticate": challenge }).end();
  });
  await using outbound = createOutbound({ privateHosts });
  const registry = open(server.url, outbound);
  for (const target of ["x", "y"]) {
    await using response = await registry.request({ method: "PUT", target, body: sendContent, signal });
    expect(response.status).toBe(200);
  }
  expect(seen).toEqual([
    "undefined: content",
    "Bearer t1: content",
    "Bearer t1: content",
    "Bearer t2: content",
  ]);
});

test("a password is not sent to a token server or an address on another host", async () => {
  const seen: (string | undefined)[] = [];
  await using stranger = await serve((request, response) => {
    seen.push(request.headers.authorization);
    response.writeHead(401, { "www-authenticate": "Basic" }).end();
  });
  const { port } = new URL(stranger.url);
  await using server = await serve((_request, response) => {
    response.writeHead(401, { "www-authenticate": `Bearer realm="http://localhost:${port}/token"` }).end();
  });
  await using outbound = createOutbound({ privateHosts: [...privateHosts, "localhost"] });
  const registry = open(server.url, outbound, { kind: "basic", name: "me", password: "secret" });
  await expect(registry.request({ target: "x", signal })).rejects.toMatchObject({
    failure: { kind: "registry-response-invalid" },
  });
  expect(seen).toEqual([]);
  await expect(registry.request({ target: new URL(stranger.url), signal })).rejects.toMatchObject({
    failure: { kind: "registry-refused" },
  });
  expect(seen).toEqual([undefined]);
});

test.for([
  "{}",
  "[]",
  "not json",
  '{"token":5}',
  '{"token":"a\\r\\nb: c"}',
  `{"token":"${"a".repeat(70_000)}"}`,
])("a token server that returns no token is rejected: %#", async (token) => {
  await using server = await serve((request, response) => {
    if (request.url?.startsWith("/token") === true) response.end(token);
    else response.writeHead(401, { "www-authenticate": `Bearer realm="${server.url}/token"` }).end();
  });
  await using outbound = createOutbound({ privateHosts });
  await expect(open(server.url, outbound).request({ target: "x", signal })).rejects.toMatchObject({
    failure: { kind: "registry-response-invalid" },
  });
});

test("a bearer credential is sent with the first request, and a rejected one is not retried", async () => {
  await using server = await serve((request, response) => {
    response.writeHead(request.headers.authorization === "Bearer hf" ? 200 : 401).end();
  });
  await using outbound = createOutbound({ privateHosts });
  await using response = await open(server.url, outbound, { kind: "bearer", token: "hf" }).request({
    target: "x",
    signal,
  });
  expect(response.status).toBe(200);
  await expect(
    open(server.url, outbound, { kind: "bearer", token: "old" }).request({ target: "x", signal }),
  ).rejects.toMatchObject({ failure: { kind: "registry-refused" } });
});

async function* sendContent(): AsyncGenerator<Uint8Array> {
  yield Buffer.from("content");
}

async function readBody(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk);
  return Buffer.concat(chunks).toString();
}

type Served = AsyncDisposable & { readonly url: string };

type Handle = (request: IncomingMessage, response: ServerResponse) => void | Promise<void>;

async function serve(handle: Handle): Promise<Served> {
  const server = createServer((request, response) => void handle(request, response));
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  // A TCP server that listens has an AddressInfo.
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
