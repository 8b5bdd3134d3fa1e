import { once } from "node:events";
import { writeFile } from "node:fs/promises";
import { createServer, type IncomingHttpHeaders } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { recordFigure } from "@hearth-and-keep/figures";
import { makeTemporaryFolder } from "@hearth-and-keep/test-servers";
import { beforeAll, expect, test } from "vitest";
import { accessKey } from "../../access/keys.ts";
import { startTestServer, type TestServer, tiny } from "../../test/start-test-server.ts";
import { type RemoteModel, readEnginesFile } from "./engines-file.ts";

async function readModels(toml: string): Promise<readonly RemoteModel[]> {
  await using folder = await makeTemporaryFolder("engines");
  const path = join(folder.path, "engines.toml");
  await writeFile(path, toml);
  return await readEnginesFile(path);
}

test.each([
  ['addresses = ["http://127.0.0.1:8000", "http://[::1]:8000"]', "pool"],
  ['addresses = ["http://10.0.0.4:8000", "http://[fd12::1]:8000"]', "pool"],
  ['addresses = ["http://gpu-1:8000", "http://engine.lan", "http://e.models.svc.cluster.local"]', "pool"],
  ['discover = { dns = "http://engines.internal:8000" }', "pool"],
  ['discover = { kubernetes = { namespace = "a", service = "b", port = 1 } }', "pool"],
  ['addresses = ["https://api.example.com"]', "remote"],
  ['addresses = ["http://10.0.0.4:8000", "http://8.8.8.8"]', "remote"],
  ['addresses = ["http://0x08080808"]', "remote"],
  ['addresses = ["http://[2a00::1]"]', "remote"],
  ['addresses = ["https://local.example.com"]', "remote"],
  ['addresses = ["https://engines.example.com"]\nlocation = "pool"', "pool"],
  ['addresses = ["http://127.0.0.1:8000"]\nlocation = "remote"', "remote"],
])("engines count as the operator's own only if their addresses show it: %s", async (toml, expected) => {
  const [model] = await readModels(`[models.a]\n${toml}\n`);
  expect(model?.location).toBe(expected);
});

test("callers are named to a gateway only within the operator's own network", async () => {
  const own = await readModels(
    '[models.a]\naddresses = ["http://10.0.0.4"]\nllm_d = { objective = "chat" }\n',
  );
  expect(own[0]?.plan.gateway).toEqual({ objective: "chat" });
  const entry = '[models.a]\naddresses = ["https://api.example.com"]\nllm_d = {}\n';
  await expect(readModels(entry)).rejects.toThrow("is for engines of your own network");
  const badName = '[models.a]\naddresses = ["http://10.0.0.4"]\nllm_d = { objective = "a\\r\\nb: c" }\n';
  await expect(readModels(badName)).rejects.toThrow("InferenceObjective");
});

const script = () =>
  [
    { do: "write", text: "Hello" },
    { do: "end", reason: "stop" },
  ] as const;
const key = "a-long-enough-key-0123";

/** Another Hearth is the engine; the gateway has a model of its own, a pool, and the same engine as somebody else's. */
let [gateway, closed]: TestServer[] = [];

beforeAll(async () => {
  const stack = new AsyncDisposableStack();
  const engine = stack.use(await startTestServer({ models: { tiny }, script }));
  const addresses = `addresses = ["${engine.url}"]\nmodel = "tiny"\n`;
  const remote = await readModels(
    `[models.pooled]\n${addresses}[models.far]\n${addresses}location = "remote"\n`,
  );
  const access = { keys: [accessKey("alice", key)] };
  const options = { models: { tiny }, script, remote, access };
  gateway = stack.use(await startTestServer(options));
  closed = stack.use(await startTestServer({ ...options, refusesRemote: true }));
  return () => stack.disposeAsync();
}, 60_000);

const messages = [{ role: "user", content: "Hi" }];
const families = [
  ["/api/chat", {}],
  ["/v1/chat/completions", {}],
  ["/alt/v1/messages", { max_tokens: 8 }],
] as const;

async function chat(server: TestServer | undefined, path: string, body: object) {
  const headers = { authorization: `Bearer ${key}` };
  const response = await fetch(`${server?.url}${path}`, {
    method: "POST",
    headers,
    body: JSON.stringify({ messages, ...body }),
  });
  return { status: response.status, headers: response.headers, text: await response.text() };
}

test.each(families)("%s tells in a header and in the log where the model runs", async (path, extra) => {
  for (const [model, expected] of [
    ["tiny", "local"],
    ["pooled", "pool"],
    ["far", "remote"],
  ]) {
    for (const stream of [true, false]) {
      const { status, headers, text } = await chat(gateway, path, { model, stream, ...extra });
      expect(status, text).toBe(200);
      expect(headers.get("hearth-runs-on"), `${model} ${stream}`).toBe(expected);
    }
    const record = gateway?.logRecords().findLast((each) => each["message"] === "Request completed");
    expect(record).toMatchObject({
      keyName: "alice",
      model: `${model}:latest`,
      runsOn: expected,
      stopReason: "stop",
      promptTokens: expect.any(Number),
      cachedTokens: expect.any(Number),
      outputTokens: expect.any(Number),
      queueMilliseconds: expect.any(Number),
      loadMilliseconds: expect.any(Number),
      firstTokenMilliseconds: expect.any(Number),
    });
    expect(JSON.stringify(record)).not.toContain(key);
  }
});

test.each(families)("%s refuses remote models with --no-remote, and runs all others", async (path, extra) => {
  const engineRequests = closed?.logRecords().length;
  const refused = await chat(closed, path, { model: "far", ...extra });
  expect(refused.status).toBe(403);
  expect(refused.text).toMatch(/remote engine/u);
  expect(refused.text).toMatch(
    path === "/api/chat"
      ? /"code":"remote-models-disabled"/u
      : path === "/v1/chat/completions"
        ? /"code":"remote_models_disabled"/u
        : /"type":"permission_error"/u,
  );
  expect(refused.headers.get("hearth-runs-on")).toBeNull();
  expect(closed?.logRecords().length).toBeGreaterThan(engineRequests ?? 0);
  for (const model of ["tiny", "pooled"])
    expect((await chat(closed, path, { model, ...extra })).status).toBe(200);
});

async function list(server: TestServer | undefined, path: string): Promise<string> {
  const headers = { authorization: `Bearer ${key}` };
  return await (await fetch(`${server?.url}${path}`, { headers })).text();
}

test("lists hide remote models with --no-remote, and mark them without", async () => {
  for (const path of ["/api/tags", "/v1/models", "/alt/v1/models"]) {
    expect(await list(gateway, path)).toContain("far");
    expect(await list(closed, path)).not.toContain("far");
    expect(await list(closed, path)).toContain("pooled");
  }
  expect(await list(gateway, "/api/tags")).toContain('"runs_on":"remote"');
});

/** An engine behind a gateway, which remembers the headers of every generation. */
async function startGatewayEngine() {
  const received: IncomingHttpHeaders[] = [];
  const chunk = JSON.stringify({ choices: [{ delta: { content: "Hi" }, finish_reason: "stop" }] });
  const server = createServer((request, response) => {
    if (request.url === "/v1/models") return void response.end('{"data":[{"id":"m"}]}');
    received.push(request.headers);
    response.end(`data: ${chunk}\n\ndata: [DONE]\n\n`);
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  // A server that listens on a TCP port has an address of this type.
  const { port } = server.address() as AddressInfo;
  const close = (): void => {
    server.closeAllConnections();
    server.close();
  };
  return { address: `http://127.0.0.1:${port}`, received, [Symbol.dispose]: close };
}

test("a gateway of llm-d learns which requests are of one key, and nothing else; other engines nothing", async () => {
  using engine = await startGatewayEngine();
  const entry = `addresses = ["${engine.address}"]\n`;
  const remote = await readModels(
    `[models.shared]\n${entry}llm_d = { objective = "chat" }\n[models.plain]\n${entry}`,
  );
  const keys = ["alice", "bob"].map((name) => ({ name, secret: `${name}-has-this-secret-1` }));
  const access = { keys: keys.map(({ name, secret }) => accessKey(name, secret)), isCacheShared: true };
  await using server = await startTestServer({ models: {}, script, remote, access });
  for (const model of ["shared", "plain"]) {
    for (const { secret } of [...keys, ...keys]) {
      const headers = { authorization: `Bearer ${secret}`, "x-llm-d-inference-fairness-id": "forged" };
      const body = JSON.stringify({ model, messages });
      const response = await fetch(`${server.url}/v1/chat/completions`, { method: "POST", headers, body });
      expect(response.status, await response.text()).toBe(200);
    }
  }
  const ids = engine.received.map((headers) => headers["x-llm-d-inference-fairness-id"]);
  const objectives = engine.received.map((headers) => headers["x-llm-d-inference-objective"]);
  expect(objectives).toEqual([...Array<string>(4).fill("chat"), ...Array<undefined>(4).fill(undefined)]);
  expect(ids.slice(4)).toEqual(Array<undefined>(4).fill(undefined));
  expect(ids[0]).toMatch(/^[\da-f]{32}$/u);
  expect([ids[0], ids[1]]).toEqual([ids[2], ids[3]]);
  expect(ids[0]).not.toBe(ids[1]);
  expect(JSON.stringify(engine.received)).not.toMatch(/alice|bob|secret|forged/u);
  recordFigure({
    claim: "share 9",
    text: `4 of 4 requests to a pool behind llm-d have an opaque fairness id and an objective; 0 of 4 to other engines`,
    counted: { reached: objectives.filter((each) => each === "chat").length, needed: 4 },
  });
});
