import type { RequestHead } from "@hearth-and-keep/http-service";
import { afterAll, beforeAll, expect, test } from "vitest";
import { scopes } from "../authorization/scopes.ts";
import { startTestKeep, type TestKeep } from "../test/start-test-keep.ts";
import { generateToken } from "../tokens/token-format.ts";
import { addressKey, createRateLimits } from "./rate-limits.ts";

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

/** The number of requests accepted before the first rejected one. */
function countUntilRefused(consume: () => void): number {
  for (let count = 0; count < 10_000; count += 1) {
    try {
      consume();
    } catch {
      return count;
    }
  }
  return Number.POSITIVE_INFINITY;
}

test("reads and writes are limited separately, and each caller on its own", () => {
  const limits = createRateLimits({ readsPerMinute: 60, writesPerMinute: 10, liveNodes: () => 1 });
  const use = (method: string, id: string) => countUntilRefused(() => limits.consume(headOf(method), { id }));
  expect([use("GET", "one"), use("POST", "one"), use("HEAD", "two"), use("DELETE", "two")]).toEqual([
    60, 10, 60, 10,
  ]);
});

test("nodes share a limit, and each node's share shrinks when another joins", () => {
  let nodes = 3;
  const limits = createRateLimits({ readsPerMinute: 60, writesPerMinute: 1, liveNodes: () => nodes });
  expect(countUntilRefused(() => limits.consume(headOf("GET"), { id: "one" }))).toBe(20);
  nodes = 6;
  expect(countUntilRefused(() => limits.consume(headOf("GET"), { id: "two" }))).toBe(10);
  expect(countUntilRefused(() => limits.consume(headOf("PUT"), { id: "two" }))).toBe(1);
});

test("addresses are grouped by IPv4 address, mapped or not, and by IPv6 /64 prefix", () => {
  expect(addressKey("::ffff:10.1.2.3")).toBe(addressKey("10.1.2.3"));
  expect(addressKey("2001:db8:0:1::1")).toBe(addressKey("2001:0DB8:0:1:ffff:ffff:ffff:ffff"));
  const others = ["10.1.2.3", "10.1.2.4", "2001:db8:0:1::1", "2001:db8:0:2::1", "::1", "fe80::1"];
  expect(new Set(others.map(addressKey)).size).toBe(others.length);
});

test("responses to authenticated callers include the remaining limit, and a rejected one includes Retry-After", async () => {
  await using limited = await startTestKeep({ settings: { readsPerMinute: "5", writesPerMinute: "3" } });
  const person = await limited.addPerson();
  const [token, limitedToken] = await Promise.all([
    limited.addToken(person, { scopes }),
    limited.addToken(person, { scopes: ["audit:read"] }),
  ]);
  const responses = [];
  for (let count = 0; count < 6; count += 1) {
    responses.push(await limited.request("/api/secrets/vaults", { token: token.text }));
  }
  expect(responses.map(({ status }) => status)).toEqual([200, 200, 200, 200, 200, 429]);
  expect(responses.map(({ headers }) => headers.get("ratelimit-policy"))).toEqual(
    responses.map(() => '"reads";q=5;w=60'),
  );
  expect(
    responses.map(({ headers }) => /r=(?<left>\d+)/u.exec(headers.get("ratelimit") ?? "")?.groups?.["left"]),
  ).toEqual(["4", "3", "2", "1", "0", "0"]);
  expect(Number(responses.at(-1)?.headers.get("retry-after"))).toBeGreaterThan(0);
  expect(await responses.at(-1)?.json()).toMatchObject({ code: "rate_limited" });
  const refused = await limited.request("/api/secrets/vaults", { token: limitedToken.text });
  expect([refused.status, refused.headers.get("ratelimit-policy")]).toEqual([403, '"reads";q=5;w=60']);
  const writes = await limited.request("/api/secrets/tokens", {
    method: "POST",
    token: token.text,
    body: {},
  });
  expect([writes.status, writes.headers.get("ratelimit-policy")]).toEqual([422, '"writes";q=3;w=60']);
  expect((await limited.request("/healthz")).headers.get("ratelimit")).toBeNull();
});

test("an address that sends many invalid tokens is rate-limited, but valid tokens behind the same address work", async () => {
  const person = await keep.addPerson();
  const [used, fresh] = await Promise.all([1, 2].map(() => keep.addToken(person, { scopes })));
  const from = async (address: string, token: string = generateToken()) =>
    (await keep.request("/api/secrets/vaults", { token, headers: { "x-forwarded-for": address } })).status;
  expect(await from("2001:db8::1", used?.text)).toBe(200);
  const guess = (_: unknown, count: number) => from(`2001:db8::${count.toString(16)}`);
  const statuses = await Promise.all(Array.from({ length: 150 }, guess));
  expect(statuses.filter((status) => status === 401).length).toBeGreaterThanOrEqual(60);
  expect(await from("2001:db8::ffff")).toBe(429);
  expect(await from("2001:db8::ffff", "not a token")).toBe(429);
  expect(await from("2001:db8::1", used?.text)).toBe(200);
  expect(await from("2001:db8::1", fresh?.text)).toBe(200);
  expect(await from("2001:db8:0:1::1")).toBe(401);
});

test("leaked tokens can be reported twenty times a minute per address", async () => {
  const statuses = await Promise.all(Array.from({ length: 40 }, reportLeak));
  expect(statuses.filter((status) => status === 200).length).toBeGreaterThanOrEqual(20);
  expect(statuses.filter((status) => status === 429).length).toBeGreaterThan(0);
});

async function reportLeak(): Promise<number> {
  const body = { tokens: ["x"] };
  return (await keep.request("/api/secrets/tokens/leaked", { method: "POST", body })).status;
}

test("denied requests are recorded on the account's audit chain, at most a hundred per minute", async () => {
  const person = await keep.addPerson();
  const limitedToken = await keep.addToken(person, { scopes: ["audit:read"] });
  const statuses = await Promise.all(
    Array.from(
      { length: 120 },
      async () => (await keep.request("/api/secrets/vaults", { token: limitedToken.text })).status,
    ),
  );
  expect(new Set(statuses)).toEqual(new Set([403]));
  const recorded = () =>
    keep.database.queryInAccount<{ body: string }>(person.accountId, {
      text: "SELECT body FROM audit_record WHERE account_id = entered.account::uuid AND stream_id = account_id AND body LIKE '%\"denied\"%'",
    });
  await expect.poll(async () => (await recorded()).length, { timeout: 10_000 }).toBe(100);
  expect(JSON.parse((await recorded())[0]?.body ?? "")).toMatchObject({
    type: "denied",
    route: "GET /api/secrets/vaults",
    reason: "insufficient-scope",
    by: `token:${limitedToken.id}`,
  });
});
