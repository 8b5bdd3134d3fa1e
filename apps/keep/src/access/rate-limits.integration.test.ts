import type { RequestHead } from "@hearth-and-keep/http-service";
import { afterAll, beforeAll, expect, test } from "vitest";
import { scopes } from "../authorization/scopes.ts";
import { startTestKeep, type TestKeep } from "../test/start-test-keep.ts";
import { generateToken } from "../tokens/token-format.ts";
import { createRateLimits, neighbourhoodOf } from "./rate-limits.ts";

let keep: TestKeep;

beforeAll(async () => {
  keep = await startTestKeep({ settings: { trustedProxies: "127.0.0.1" } });
});
afterAll(() => keep[Symbol.asyncDispose]());

function headOf(method: string): RequestHead {
  return {
    requestId: "",
    method,
    path: "",
    parameters: {},
    query: {},
    headers: {},
    clientAddress: "",
    addLogFields: () => undefined,
    addResponseHeaders: () => undefined,
  };
}

/** How many requests of a kind are let through before the first that is not. */
function countUntilRefused(take: () => void): number {
  for (let count = 0; count < 10_000; count += 1) {
    try {
      take();
    } catch {
      return count;
    }
  }
  return Number.POSITIVE_INFINITY;
}

test("reads and writes of a caller are counted apart, and each caller alone", () => {
  const limits = createRateLimits({ readsPerMinute: 60, writesPerMinute: 10, liveNodes: () => 1 });
  const use = (method: string, id: string) => countUntilRefused(() => limits.take(headOf(method), { id }));
  expect([use("GET", "one"), use("POST", "one"), use("HEAD", "two"), use("DELETE", "two")]).toEqual([
    60, 10, 60, 10,
  ]);
});

test("nodes share a limit, and a node that joins leaves less for the others", () => {
  let nodes = 3;
  const limits = createRateLimits({ readsPerMinute: 60, writesPerMinute: 1, liveNodes: () => nodes });
  expect(countUntilRefused(() => limits.take(headOf("GET"), { id: "one" }))).toBe(20);
  nodes = 6;
  expect(countUntilRefused(() => limits.take(headOf("GET"), { id: "two" }))).toBe(10);
  expect(countUntilRefused(() => limits.take(headOf("PUT"), { id: "two" }))).toBe(1);
});

test("an address is an IPv4 address, however it is written, or a whole /64", () => {
  expect(neighbourhoodOf("::ffff:10.1.2.3")).toBe(neighbourhoodOf("10.1.2.3"));
  expect(neighbourhoodOf("2001:db8:0:1::1")).toBe(neighbourhoodOf("2001:0DB8:0:1:ffff:ffff:ffff:ffff"));
  const others = ["10.1.2.3", "10.1.2.4", "2001:db8:0:1::1", "2001:db8:0:2::1", "::1", "fe80::1"];
  expect(new Set(others.map(neighbourhoodOf)).size).toBe(others.length);
});

test("every answer to somebody we know says what is left, and the one too many says when to come back", async () => {
  await using narrow = await startTestKeep({ settings: { readsPerMinute: "5", writesPerMinute: "3" } });
  const person = await narrow.addPerson();
  const [token, poor] = await Promise.all([
    narrow.addToken(person, { scopes }),
    narrow.addToken(person, { scopes: ["audit:read"] }),
  ]);
  const answers = [];
  for (let count = 0; count < 6; count += 1) {
    answers.push(await narrow.ask("/api/secrets/vaults", { token: token.text }));
  }
  expect(answers.map(({ status }) => status)).toEqual([200, 200, 200, 200, 200, 429]);
  expect(answers.map(({ headers }) => headers.get("ratelimit-policy"))).toEqual(
    answers.map(() => '"reads";q=5;w=60'),
  );
  expect(
    answers.map(({ headers }) => /r=(?<left>\d+)/u.exec(headers.get("ratelimit") ?? "")?.groups?.["left"]),
  ).toEqual(["4", "3", "2", "1", "0", "0"]);
  expect(Number(answers.at(-1)?.headers.get("retry-after"))).toBeGreaterThan(0);
  expect(await answers.at(-1)?.json()).toMatchObject({ code: "rate_limited" });
  const refused = await narrow.ask("/api/secrets/vaults", { token: poor.text });
  expect([refused.status, refused.headers.get("ratelimit-policy")]).toEqual([403, '"reads";q=5;w=60']);
  const writes = await narrow.ask("/api/secrets/tokens", { method: "POST", token: token.text, body: {} });
  expect([writes.status, writes.headers.get("ratelimit-policy")]).toEqual([422, '"writes";q=3;w=60']);
  expect((await narrow.ask("/healthz")).headers.get("ratelimit")).toBeNull();
});

test("an address that brings many tokens that do not hold waits; another, and a token in use there, do not", async () => {
  const person = await keep.addPerson();
  const [used, fresh] = await Promise.all([1, 2].map(() => keep.addToken(person, { scopes })));
  const from = async (address: string, token: string = generateToken()) =>
    (await keep.ask("/api/secrets/vaults", { token, headers: { "x-forwarded-for": address } })).status;
  expect(await from("2001:db8::1", used?.text)).toBe(200);
  const guess = (_: unknown, count: number) => from(`2001:db8::${count.toString(16)}`);
  const statuses = await Promise.all(Array.from({ length: 150 }, guess));
  expect(statuses.filter((status) => status === 401).length).toBeGreaterThanOrEqual(60);
  expect(await from("2001:db8::ffff")).toBe(429);
  expect(await from("2001:db8::1", fresh?.text)).toBe(429);
  expect(await from("2001:db8::1", used?.text)).toBe(200);
  expect(await from("2001:db8:0:1::1", fresh?.text)).toBe(200);
});

test("a finder of tokens may report twenty times a minute", async () => {
  const statuses = await Promise.all(Array.from({ length: 40 }, reportLeak));
  expect(statuses.filter((status) => status === 200).length).toBeGreaterThanOrEqual(20);
  expect(statuses.filter((status) => status === 429).length).toBeGreaterThan(0);
});

async function reportLeak(): Promise<number> {
  const body = { tokens: ["x"] };
  return (await keep.ask("/api/secrets/tokens/leaked", { method: "POST", body })).status;
}

test("what somebody is denied stands on the account's chain, a hundred times a minute and not more", async () => {
  const person = await keep.addPerson();
  const poor = await keep.addToken(person, { scopes: ["audit:read"] });
  const statuses = await Promise.all(
    Array.from(
      { length: 120 },
      async () => (await keep.ask("/api/secrets/vaults", { token: poor.text })).status,
    ),
  );
  expect(new Set(statuses)).toEqual(new Set([403]));
  const recorded = () =>
    keep.database.askInAccount<{ body: string }>(person.accountId, {
      text: "SELECT body FROM audit_event WHERE account_id = entered.account::uuid AND chain_id = account_id AND body LIKE '%\"denied\"%'",
    });
  await expect.poll(async () => (await recorded()).length, { timeout: 10_000 }).toBe(100);
  expect(JSON.parse((await recorded())[0]?.body ?? "")).toMatchObject({
    type: "denied",
    route: "GET /api/secrets/vaults",
    reason: "insufficient-scope",
    by: `token:${poor.id}`,
  });
});
