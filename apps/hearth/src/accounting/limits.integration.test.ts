import { setTimeout as sleep } from "node:timers/promises";
import type { FakeEngineScript } from "@hearth-and-keep/engine/testing";
import { chooseSize, recordFigure } from "@hearth-and-keep/figures";
import { describe, expect, test } from "vitest";
import type { KeyLimits } from "../key-store/key-store.ts";
import { addKey, type Backend, createKeyDatabase, findFullest } from "../key-store/test/key-databases.ts";
import {
  type Family,
  families,
  post,
  sayHello,
  speakForever,
  startLimitedServer,
} from "./test/start-limited-server.ts";

const width = chooseSize({ ci: 300, show: 2000, nightly: 10_000 });
const windows = chooseSize({ ci: 2, show: 4, nightly: 6 });
const minuteMilliseconds = 60_000;
/** CI tests one backend here; the tests of the store test both. */
const tested = chooseSize<readonly Backend[]>({
  ci: ["sqlite"],
  show: ["sqlite", "postgres"],
  nightly: ["sqlite", "postgres"],
});

type Answer = {
  readonly from: number;
  readonly to: number;
  readonly status: number;
  readonly headers: Headers;
  readonly body: unknown;
};

type Load = { readonly urls: readonly string[]; readonly secret: string; readonly family: Family };

/** Many clients on two nodes that send as fast as they can. */
async function pressOn({ urls, secret, family }: Load): Promise<readonly Answer[]> {
  const until = Date.now() + windows * width;
  const answers = await Promise.all(
    Array.from({ length: 8 }, async (_, index) => {
      const own: Answer[] = [];
      while (Date.now() < until) {
        const from = Date.now();
        const url = urls[index % urls.length] ?? "";
        const response = await post({ url, secret, path: family.path, body: family.body() });
        const body: unknown = await response.json();
        own.push({
          from,
          to: Date.now(),
          status: response.status,
          headers: response.headers,
          body,
        });
        await sleep(response.status === 200 ? 1 : 20);
      }
      return own;
    }),
  );
  return answers.flat();
}

/** Three tokens for each answer. */
const tokensPerAnswer = 3;
const cases: readonly { readonly limits: KeyLimits; readonly amount: number; readonly most: number }[] = [
  { limits: { requestsPerMinute: 10 }, amount: 1, most: 10 },
  { limits: { tokensPerMinute: 1200 }, amount: tokensPerAnswer, most: 1200 },
  { limits: { tokensPerDay: 1200 }, amount: tokensPerAnswer, most: 1200 },
  { limits: { tokensPerMonth: 1200 }, amount: tokensPerAnswer, most: 1200 },
];

describe.each(tested)("%s", (backend) => {
  test.each(families)(
    "no limit is exceeded in any window under load: $name",
    async (family) => {
      await using database = await createKeyDatabase(backend, width);
      await using first = await startLimitedServer(database);
      await using second = await startLimitedServer(database);
      await using store = await database.open();
      let refused = 0;
      let kept = 0;
      for (const { limits, amount, most } of cases) {
        const name = Object.keys(limits).join();
        const { secret } = await addKey(store, { name, ...limits });
        for (const { url } of [first, second]) await expect.poll(() => isKnown(url, secret)).toBe(true);
        const answers = await pressOn({ urls: [first.url, second.url], secret, family });
        expect(new Set(answers.map(({ status }) => status)).difference(new Set([200, 429]))).toEqual(
          new Set(),
        );
        const admitted = answers
          .filter(({ status }) => status === 200)
          .map(({ from, to }) => ({ from, to, amount }));
        const isWithin = findFullest(admitted, width) <= most;
        expect(isWithin).toBe(true);
        kept += 1;
        refused += answers.length - admitted.length;
        expect(admitted.length).toBeGreaterThan(0);
        for (const { headers } of answers.filter(({ status }) => status === 429)) {
          expect(Number(headers.get("retry-after"))).toBeGreaterThanOrEqual(1);
        }
      }
      expect(refused).toBeGreaterThan(0);
      recordFigure({
        claim: "share 5",
        text: `${backend}, ${family.path}: ${kept} of ${cases.length} limits kept in every window on two nodes, ${refused} requests refused`,
        counted: { reached: kept, needed: cases.length },
      });
    },
    240_000,
  );
});

async function isKnown(url: string, secret: string): Promise<boolean> {
  const response = await fetch(`${url}/api/version`, { headers: { authorization: `Bearer ${secret}` } });
  return response.status === 200;
}

test.each(families)(
  "headers and the error of a refused request are those of its API: $name",
  async (family) => {
    await using database = await createKeyDatabase("sqlite", minuteMilliseconds);
    await using store = await database.open();
    const { secret } = await addKey(store, { requestsPerMinute: 2, tokensPerMinute: 5000 });
    await using server = await startLimitedServer(database);
    const send = () => post({ url: server.url, secret, path: family.path, body: family.body() });
    const read = (response: Response, part: "limit" | "remaining" | "reset") =>
      [
        response.headers.get(family.header("requests", part)),
        response.headers.get(family.header("tokens", part)),
      ] as const;
    const first = await send();
    expect(first.status).toBe(200);
    expect(read(first, "limit")).toEqual(["2", "5000"]);
    expect(read(first, "remaining")[0]).toBe("1");
    expect(Number(read(first, "remaining")[1])).toBeLessThan(5000);
    expect(read(first, "reset")[0]).toMatch(
      family.name === "anthropic" ? /^\d{4}-\d\d-\d\dT.*Z$/u : /^1m0s$/u,
    );
    await first.json();
    await (await send()).json();
    const refused = await send();
    expect(refused.status).toBe(429);
    expect(read(refused, "remaining")[0]).toBe("0");
    // What was reserved for the first answers is given back, except for what they used.
    expect(Number(read(refused, "remaining")[1])).toBe(5000 - 2 * tokensPerAnswer);
    const seconds = Number(refused.headers.get("retry-after"));
    expect(seconds).toBeGreaterThan(50);
    expect(seconds).toBeLessThanOrEqual(60);
    expect(await refused.json()).toMatchObject(refusals[family.name]);
  },
);

const refusals = {
  ollama: { error: "rate limit of 2 requests reached", code: "rate-limited" },
  openai: { error: { type: "requests", code: "rate_limit_exceeded", param: null } },
  anthropic: { type: "error", error: { type: "rate_limit_error" } },
};

test("a budget is refused with a code of its own, and without an invitation to try again", async () => {
  await using database = await createKeyDatabase("sqlite", minuteMilliseconds);
  await using store = await database.open();
  const { secret } = await addKey(store, { tokensPerDay: 1 });
  await using server = await startLimitedServer(database);
  const answers = await Promise.all(
    families.map(async ({ path, body }) => {
      const response = await post({ url: server.url, secret, path, body: body() });
      return { response, body: await response.json() };
    }),
  );
  expect(answers.map(({ response }) => response.status)).toEqual([429, 429, 429]);
  expect(answers.map(({ body }) => body)).toMatchObject([
    { code: "budget-exhausted" },
    { error: { type: "insufficient_quota", code: "insufficient_quota" } },
    { error: { type: "rate_limit_error" } },
  ]);
  expect(answers.slice(1).map(({ response }) => response.headers.get("x-should-retry"))).toEqual([
    "false",
    "false",
  ]);
});

test("an answer that outgrows its reservation ends with the error when the limit is reached", async () => {
  await using database = await createKeyDatabase("sqlite", minuteMilliseconds);
  await using store = await database.open();
  const { key, secret } = await addKey(store, { tokensPerMinute: 2000 });
  await using server = await startLimitedServer(database, {
    script: speakLong,
    limits: { contextTokens: 16_384, sequences: 4 },
    description: { contextTokens: 16_384, trainedContextTokens: 16_384 },
  });
  const body = { model: "tiny", messages: [{ role: "user", content: "Hi" }], stream: true };
  const response = await post({ url: server.url, secret, path: "/v1/chat/completions", body });
  const text = await response.text();
  expect(text.trimEnd().split("\n\n").at(-1)).toContain("rate_limit_exceeded");
  expect(text.match(/"content":"word/gu)?.length).toBeGreaterThan(1900);
  await expect.poll(() => store.usage(key.id)).toMatchObject({ running: 0 });
  const { tokensInWindow } = await store.usage(key.id);
  expect(tokensInWindow).toBeLessThanOrEqual(2000);
  expect(tokensInWindow).toBeGreaterThan(1900);
});

test("a client that hangs up pays for what it got, frees its place, and gains no request", async () => {
  await using database = await createKeyDatabase("sqlite", minuteMilliseconds);
  await using store = await database.open();
  const { key, secret } = await addKey(store, {
    tokensPerMinute: 100_000,
    concurrentRequests: 1,
    requestsPerMinute: 4,
  });
  await using server = await startLimitedServer(database, { script: speakForever });
  for (const family of families) {
    const leaving = new AbortController();
    const body = family.body({ stream: true, max_tokens: 1000 });
    const response = await post({ url: server.url, secret, path: family.path, body, signal: leaving.signal });
    expect(response.status).toBe(200);
    const reader = response.body?.getReader();
    for (let chunk = 0; chunk < 5; chunk += 1) await reader?.read();
    expect(await store.usage(key.id)).toMatchObject({ running: 1 });
    leaving.abort();
    await expect.poll(async () => (await store.usage(key.id)).running).toBe(0);
  }
  const { tokensToday, requestsInWindow } = await store.usage(key.id);
  expect(requestsInWindow).toBe(3);
  expect(tokensToday).toBeGreaterThan(3 * 4);
  expect(tokensToday).toBeLessThan(1000);
});

test("requests of every kind count against the same limit", async () => {
  await using database = await createKeyDatabase("sqlite", minuteMilliseconds);
  await using store = await database.open();
  await using server = await startLimitedServer(database, { script: sayHello });
  const text = { model: "tiny", input: "Hi" };
  const chat = { model: "tiny", messages: [{ role: "user", content: "Hi" }], max_tokens: 8 };
  const sent: readonly (readonly [path: string, body: unknown])[] = [
    ["/api/embed", text],
    ["/v1/embeddings", text],
    ["/api/tokenize", { model: "tiny", prompt: "Hi" }],
    ["/v1/messages/count_tokens", chat],
    ["/v1/v1/messages", chat],
    ["/v1/responses", text],
    ["/v1/responses/input_tokens", text],
    ["/v1/completions", { model: "tiny", prompt: "Hi" }],
    ["/api/generate", { model: "tiny", prompt: "Hi", stream: false }],
    ["/completions", { model: "tiny", prompt: "Hi" }],
  ];
  const { key, secret } = await addKey(store, { requestsPerMinute: sent.length });
  await expect.poll(() => isKnown(server.url, secret)).toBe(true);
  for (const [path, body] of sent) {
    const response = await post({ url: server.url, secret, path, body });
    expect([path, response.status === 429]).toEqual([path, false]);
    await response.text();
  }
  expect((await store.usage(key.id)).requestsInWindow).toBe(sent.length);
  for (const { path, body } of families) {
    expect((await post({ url: server.url, secret, path, body: body() })).status).toBe(429);
  }
  recordFigure({
    claim: "share 5",
    text: `${sent.length} of ${sent.length} other routes count, and the ${families.length} families are refused after them`,
    counted: { reached: sent.length, needed: sent.length },
  });
});

test("requests of a batch count too", async () => {
  await using database = await createKeyDatabase("sqlite", minuteMilliseconds);
  await using store = await database.open();
  const { key, secret } = await addKey(store, { requestsPerMinute: 3 });
  await using server = await startLimitedServer(database);
  const params = { model: "tiny", messages: [{ role: "user", content: "Hi" }], max_tokens: 8 };
  const requests = ["a", "b", "c", "d"].map((id) => ({ custom_id: id, params }));
  const created = await post({
    url: server.url,
    secret,
    path: "/alt/v1/messages/batches",
    body: { requests },
  });
  const { id }: { readonly id: string } = JSON.parse(await created.text());
  const headers = { authorization: `Bearer ${secret}` };
  const readBatch = async (): Promise<{ readonly request_counts: Readonly<Record<string, number>> }> =>
    JSON.parse(await (await fetch(`${server.url}/alt/v1/messages/batches/${id}`, { headers })).text());
  await expect
    .poll(async () => (await readBatch()).request_counts, { timeout: 5000 })
    .toMatchObject({ succeeded: 2, errored: 2 });
  expect((await store.usage(key.id)).requestsInWindow).toBe(3);
});

const speakLong: FakeEngineScript = function* speak() {
  for (let index = 0; index < 5000; index += 1) yield { do: "write", text: "word " };
  yield { do: "end", reason: "stop" };
};
