import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { makeTemporaryFolder } from "@hearth-and-keep/test-servers";
import { expect, test } from "vitest";
import { accessKey } from "../access/keys.ts";
import {
  families,
  post,
  sayHello,
  speakForever,
  startLimitedServer,
} from "../accounting/test/start-limited-server.ts";
import type { KeyStore } from "../key-store/key-store.ts";
import { addKey, createKeyDatabase } from "../key-store/test/key-databases.ts";
import type { UsageEntry } from "../key-store/usage-ledger.ts";
import { readEnginesFile } from "../models/remote/engines-file.ts";
import { startTestServer, tiny } from "../test/start-test-server.ts";
import { maxUsageRows } from "./handlers.ts";

const minute = 60_000;

async function get(url: string, secret: string, accept = "application/json"): Promise<Response> {
  return await fetch(url, { headers: { authorization: `Bearer ${secret}`, accept } });
}

type Listed = Readonly<Record<string, unknown>>;

async function listRequests(url: string, secret: string, query = ""): Promise<readonly Listed[]> {
  // The response of Hearth's own /api/usage/requests.
  const body = (await (await get(`${url}/api/usage/requests${query}`, secret)).json()) as {
    readonly requests: readonly Listed[];
  };
  return body.requests;
}

/** Six chats of one key, three of another one and a request for a model that does not exist. */
async function startUsedServer() {
  await using stack = new AsyncDisposableStack();
  const database = stack.use(await createKeyDatabase("sqlite", minute));
  const store = stack.use(await database.open());
  const { secret: admin } = await addKey(store, { name: "admin", role: "admin" });
  const { secret: alice } = await addKey(store, { name: "alice", tokensPerDay: 10_000 });
  const { secret: bob } = await addKey(store, { name: "bob" });
  const { url } = stack.use(await startLimitedServer(database));
  for (const secret of [alice, alice, bob]) {
    for (const { path, body } of families) await (await post({ url, secret, path, body: body() })).text();
  }
  const body = { model: "made-up", messages: [{ role: "user", content: "Hi" }] };
  expect((await post({ url, secret: bob, path: "/api/chat", body })).status).toBe(404);
  await expect.poll(async () => (await listRequests(url, admin)).length).toBe(10);
  const resources = stack.move();
  return { url, admin, alice, [Symbol.asyncDispose]: () => resources.disposeAsync() };
}

const counters = {
  cached_tokens: 0,
  queue_seconds: expect.any(Number),
  first_token_seconds: expect.any(Number),
};

function rowsOf(counts: Readonly<Record<string, unknown>>) {
  const start = `${new Date().toISOString().slice(0, 10)}T00:00:00.000Z`;
  return { start, model: "tiny:latest", where: "local", failed: 0, ...counters, ...counts };
}

test("usage has one row for each day, key, model and place", async () => {
  await using used = await startUsedServer();
  expect(await (await get(`${used.url}/api/usage`, used.admin)).json()).toEqual({
    from: expect.stringMatching(/T00:00:00\.000Z$/u),
    to: expect.stringMatching(/T00:00:00\.000Z$/u),
    bucket: "day",
    ledger: "on",
    rows: [
      rowsOf({ key: "alice", requests: 6, input_tokens: 6, output_tokens: 12 }),
      rowsOf({ key: "bob", model: "", where: "", requests: 1, failed: 1, input_tokens: 0, output_tokens: 0 }),
      rowsOf({ key: "bob", requests: 3, input_tokens: 3, output_tokens: 6 }),
    ],
    totals: { requests: 10, failed: 1, input_tokens: 9, output_tokens: 18, ...counters },
  });
  expect((await listRequests(used.url, used.admin, "?key=bob&model=tiny%3Alatest")).length).toBe(3);
});

test("an inference key sees its own rows only, whatever it asks for", async () => {
  await using used = await startUsedServer();
  for (const query of ["", "?key=bob", "?bucket=day&key=admin"]) {
    const usage = await (await get(`${used.url}/api/usage${query}`, used.alice)).json();
    expect(usage).toMatchObject({ rows: [{ key: "alice" }], totals: { requests: 6 } });
  }
  for (const query of ["", "?key=alice", "?limit=1000&before=999999999"]) {
    const keys = (await listRequests(used.url, used.alice, query)).map(({ key }) => key);
    expect([keys.length, new Set(keys)]).toEqual([6, new Set(["alice"])]);
  }
  expect(await listRequests(used.url, used.alice, "?key=bob")).toEqual([]);
  expect((await fetch(`${used.url}/api/usage`)).status).toBe(401);
});

test("single requests are listed newest first, in pages", async () => {
  await using database = await createKeyDatabase("sqlite", minute);
  await using store = await database.open();
  const { secret } = await addKey(store, { role: "admin" });
  await fill(store, ["a", "b", "c"]);
  await using server = await startLimitedServer(database);
  // The response of Hearth's own /api/usage/requests.
  const first = (await (await get(`${server.url}/api/usage/requests?limit=2`, secret)).json()) as Listed;
  expect(first).toMatchObject({ ledger: "on", requests: [{ model: "c" }, { model: "b" }] });
  const second = await (
    await get(`${server.url}/api/usage/requests?limit=2&before=${String(first["next"])}`, secret)
  ).json();
  expect(second).toMatchObject({
    requests: [{ model: "a", stop_reason: "stop", total_seconds: 0.04 }],
    next: null,
  });
});

test("a request is listed however it ends: by its client, by an error, or after a stream", async () => {
  await using database = await createKeyDatabase("sqlite", minute);
  await using store = await database.open();
  const { secret } = await addKey(store, { tokensPerDay: 100_000 });
  await using talking = await startLimitedServer(database, { script: speakForever });
  await using failing = await startLimitedServer(database, {
    script: () => [
      { do: "write", text: "a" },
      { do: "fail", failure: { kind: "engine-hung", seconds: 1 } },
    ],
  });
  await using polite = await startLimitedServer(database, { script: sayHello });
  for (const { path, body, name } of families) {
    const leaving = new AbortController();
    const request = { secret, path, body: body({ stream: true, max_tokens: 1000 }) };
    const response = await post({ ...request, url: talking.url, signal: leaving.signal });
    await response.body?.getReader().read();
    leaving.abort();
    await expect
      .poll(async () => (await listRequests(polite.url, secret))[0], { message: name })
      .toMatchObject({
        failure: "client-disconnected",
        stop_reason: null,
        model: "tiny:latest",
        where: "local",
      });
    await (await post({ ...request, url: failing.url })).text();
    await expect
      .poll(async () => (await listRequests(polite.url, secret))[0])
      .toMatchObject({ failure: "engine-hung" });
    await (await post({ ...request, url: polite.url })).text();
    await expect
      .poll(async () => (await listRequests(polite.url, secret))[0])
      .toMatchObject({
        failure: null,
        stop_reason: "stop",
        engine: "fake",
        input_tokens: 1,
        output_tokens: 2,
        queue_seconds: expect.any(Number),
        load_seconds: expect.any(Number),
        first_token_seconds: expect.any(Number),
      });
  }
  expect((await listRequests(polite.url, secret)).length).toBe(9);
  const { tokensToday } = await store.usage((await store.list())[0]?.id ?? "");
  const rows = await listRequests(polite.url, secret);
  const sum = rows.reduce(
    (total, row) => total + Number(row["input_tokens"]) + Number(row["output_tokens"]),
    0,
  );
  expect(sum).toBe(tokensToday);
});

test("a refused request has no row, and a configured key has rows of its own", async () => {
  await using database = await createKeyDatabase("sqlite", minute);
  await using store = await database.open();
  const { secret: admin } = await addKey(store, { name: "admin", role: "admin" });
  const { secret } = await addKey(store, { requestsPerMinute: 1 });
  const configured = "a-configured-key";
  await using server = await startLimitedServer(database, {
    keys: [accessKey("team", configured, "inference")],
  });
  const send = async (key: string, path = "/api/chat"): Promise<number> => {
    const body = { model: "tiny", input: "Hi", messages: [{ role: "user", content: "Hi" }], stream: false };
    const response = await post({ url: server.url, secret: key, path, body });
    await response.text();
    return response.status;
  };
  expect([await send(secret), await send(secret)]).toEqual([200, 429]);
  expect([
    await send(configured),
    await send(configured, "/api/embed"),
    await send(configured, "/api/tokenize"),
  ]).toEqual([200, 200, 400]);
  await expect.poll(async () => (await listRequests(server.url, admin)).length).toBe(3);
  expect(await listRequests(server.url, configured)).toMatchObject([
    {
      key: "team",
      model: "tiny:latest",
      input_tokens: 1,
      output_tokens: 0,
      stop_reason: null,
      failure: null,
    },
    { key: "team", model: "tiny:latest", input_tokens: 1, output_tokens: 2, stop_reason: "stop" },
  ]);
});

test("CSV has the same rows, and no cell that a spreadsheet would run", async () => {
  await using database = await createKeyDatabase("sqlite", minute);
  await using store = await database.open();
  const { secret } = await addKey(store, { role: "admin" });
  const formulas = [
    "=1+1",
    "+1",
    "-1",
    "@SUM(A1)",
    "\t=1",
    " =1",
    "＝1",
    '=HYPERLINK("http://x","y")',
    "|x",
    "a\r\nb",
    'a","=1',
  ];
  await fill(store, ["plain", ...formulas]);
  await using server = await startLimitedServer(database);
  const byHeader = await get(`${server.url}/api/usage`, secret, "text/csv");
  const csv = await byHeader.text();
  expect(byHeader.headers.get("content-type")).toBe("text/csv; charset=utf-8");
  expect(await (await get(`${server.url}/api/usage?format=csv`, secret)).text()).toBe(csv);
  expect(
    (await get(`${server.url}/api/usage?format=json`, secret, "text/csv")).headers.get("content-type"),
  ).toContain("json");
  expect(csv.split("\r\n")[0]).toBe(
    "start,key,model,where,requests,failed,input_tokens,cached_tokens,output_tokens,queue_seconds,first_token_seconds",
  );
  expect(csv).toMatch(/^\d{4}-\d\d-\d\dT00:00:00\.000Z,team,plain,local,1,0,7,2,5,0\.01,0\.03\r$/mu);
  expect(csv).not.toMatch(/(?:^|[,\n])"?[\s]*[=+\-@|＝]/mu);
  expect(csv).toContain(`"'=HYPERLINK(""http://x"",""y"")"`);
  expect(csv).toContain('"a"",""=1"');
});

test.each([
  ["?bucket=minute", 400],
  ["?from=2026-02-31", 400],
  ["?from=0001-01-01", 400],
  ["?from=2026-01-01&from=2026-01-02", 400],
  ["?from=%27%3B%20DROP%20TABLE%20usage_hour%3B--", 400],
  ["?to=9999-12-31&from=9999-12-01", 200],
  ["/requests?limit=0", 400],
  ["/requests?limit=100000", 400],
  ["/requests?before=-1", 400],
  ["/requests?before=1%20OR%201%3D1", 400],
  ["/requests?model=%00", 400],
  ["/requests?key=a%0A", 400],
  ["/requests?model=%F0%9F%A6%99%3Alatest", 200],
  [`/requests?model=${"x".repeat(2000)}`, 400],
])("a query is accepted only within its bounds: %s", async (query, status) => {
  await using database = await createKeyDatabase("sqlite", minute);
  await using store = await database.open();
  const { secret } = await addKey(store, { role: "admin" });
  await using server = await startLimitedServer(database);
  expect((await get(`${server.url}/api/usage${query}`, secret)).status).toBe(status);
  expect((await get(`${server.url}/api/usage`, secret)).status).toBe(200);
});

test("a range with more rows than a response may have is refused", async () => {
  await using database = await createKeyDatabase("sqlite", minute);
  await using store = await database.open();
  const { secret } = await addKey(store, { role: "admin" });
  await using server = await startLimitedServer(database);
  const models = Array.from({ length: maxUsageRows }, (_, index) => `model-${index}`);
  await fill(store, models);
  expect((await get(`${server.url}/api/usage`, secret)).status).toBe(200);
  await fill(store, ["one-more"]);
  const refused = await get(`${server.url}/api/usage`, secret);
  expect([refused.status, await refused.text()]).toEqual([400, expect.stringContaining("shorter range")]);
});

test("without a database of keys, usage is empty and says that there is no ledger", async () => {
  await using server = await startTestServer({ models: { tiny }, script: sayHello });
  const usage = await (await fetch(`${server.url}/api/usage?from=2026-01-01&to=2026-01-31`)).json();
  expect(usage).toMatchObject({
    ledger: "off",
    rows: [],
    totals: { requests: 0 },
    from: "2026-01-01T00:00:00.000Z",
  });
  expect(await (await fetch(`${server.url}/api/usage/requests`)).json()).toEqual({
    ledger: "off",
    requests: [],
    next: null,
  });
});

test("a row tells an admin which engine of a pool answered, and other keys only that it was a pool", async () => {
  await using database = await createKeyDatabase("sqlite", minute);
  await using store = await database.open();
  const { secret } = await addKey(store);
  const { secret: admin } = await addKey(store, { name: "admin", role: "admin" });
  await using engine = await startTestServer({ models: { tiny }, script: sayHello });
  await using folder = await makeTemporaryFolder("engines");
  const path = join(folder.path, "engines.toml");
  await writeFile(path, `[models.pooled]\naddresses = ["${engine.url}"]\nmodel = "tiny"\n`);
  await using server = await startLimitedServer(database, { remote: await readEnginesFile(path) });
  const body = { model: "pooled", messages: [{ role: "user", content: "Hi" }], stream: false };
  await (await post({ url: server.url, secret, path: "/api/chat", body })).text();
  await expect.poll(async () => (await listRequests(server.url, admin)).length).toBe(1);
  const [shown] = await listRequests(server.url, admin);
  expect(shown).toMatchObject({
    model: "pooled:latest",
    where: "pool",
    address: expect.stringContaining("127.0.0.1"),
  });
  expect((await listRequests(server.url, secret))[0]).toEqual({ ...shown, address: null });
});

const entry: UsageEntry = {
  model: "",
  engine: "fake",
  location: "local",
  inputTokens: 7,
  cachedTokens: 2,
  outputTokens: 5,
  queueMilliseconds: 10,
  firstTokenMilliseconds: 30,
  totalMilliseconds: 40,
  stopReason: "stop",
};

async function fill(store: KeyStore, models: readonly string[]): Promise<void> {
  await store.record(models.map((model) => ({ key: { name: "team" }, entry: { ...entry, model } })));
}
