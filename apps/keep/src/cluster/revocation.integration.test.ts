import { chooseSize, hasLooseTimingBounds, recordFigure } from "@hearth-and-keep/figures";
import { startFaultProxy } from "@hearth-and-keep/test-servers";
import { Client } from "pg";
import { afterAll, beforeAll, expect, test } from "vitest";
import { scopes } from "../authorization/scopes.ts";
import { generateId } from "../generate-id.ts";
import { type ServingNode, startServingNode } from "../test/serving-node.ts";
import { startTestKeep, type TestKeep, type TestPerson } from "../test/start-test-keep.ts";

const vaultsPath = "/api/secrets/vaults";
const maxMilliseconds = hasLooseTimingBounds ? 10_000 : 1000;

const longTest = { timeout: 600_000 };
const behindProxy = { KEEP_TRUSTED_PROXIES: "127.0.0.1" };

let keep: TestKeep;
let person: TestPerson;
let nodes: readonly ServingNode[] = [];
let revoker: string;

beforeAll(async () => {
  keep = await startTestKeep();
  person = await keep.addPerson();
  nodes = await Promise.all([1, 2, 3].map(() => startServingNode(keep.databaseUrl, keep.key, behindProxy)));
  revoker = (await keep.addToken(person, { scopes })).text;
});

afterAll(async () => {
  await Promise.all(nodes.map((node) => node.stop()));
  await keep[Symbol.asyncDispose]();
});

async function send(url: string, token: string, method = "GET"): Promise<number> {
  const headers = { authorization: `Bearer ${token}`, "x-forwarded-for": addressOf(token) };
  const response = await fetch(url, { method, headers, signal: AbortSignal.timeout(20_000) });
  await response.arrayBuffer();
  return response.status;
}

/** Requests that were running when the database stopped responding would wait for a longer timeout. */
function sendWithTimeout(url: string, token: string): Promise<number | "timeout"> {
  const timeout = new Promise<"timeout">((resolve) => setTimeout(resolve, 6000, "timeout").unref());
  return Promise.race([send(url, token).catch(() => "timeout" as const), timeout]);
}

/** A separate address per token, to stay below the limit of invalid credentials per address. */
function addressOf(token: string): string {
  return `2001:db8:${token.charCodeAt(10).toString(16)}:${token.charCodeAt(20).toString(16)}::1`;
}

type Load = {
  /** When each successful request was sent and when its response arrived. */
  readonly successes: { sentAt: number; receivedAt: number }[];
  /** Resolves after several consecutive refusals. */
  readonly refused: Promise<void>;
};

/** Uses a token on one node continuously until it is refused. */
function useUntilRefused(node: ServingNode, token: string): Load {
  const successes: Load["successes"] = [];
  const run = async (): Promise<void> => {
    for (let refusals = 0; refusals < 5; ) {
      const sentAt = performance.now();
      const status = await send(`${node.url}${vaultsPath}`, token);
      if (status === 200) successes.push({ sentAt, receivedAt: performance.now() });
      refusals = status === 200 ? 0 : refusals + 1;
    }
  };
  return { successes, refused: run() };
}

/** Milliseconds from the acknowledgement of the revocation to the token's last success on any node. */
async function revokeUnderLoad(index: number, query: "" | "?wait=all"): Promise<number> {
  const token = await keep.addToken(person, { scopes: ["vaults:read"] });
  const loads = nodes.map((node) => useUntilRefused(node, token.text));
  await expect
    .poll(() => loads.every(({ successes }) => successes.length > 3), { timeout: 20_000 })
    .toBe(true);
  const through = nodes[index % nodes.length]?.url ?? "";
  expect(await send(`${through}/api/secrets/tokens/${token.id}${query}`, revoker, "DELETE")).toBe(204);
  const acknowledgedAt = performance.now();
  await Promise.all(loads.map(({ refused }) => refused));
  const all = loads.flatMap(({ successes }) => successes);
  if (query === "?wait=all") expect(all.filter(({ sentAt }) => sentAt > acknowledgedAt)).toEqual([]);
  return Math.max(0, ...all.map(({ receivedAt }) => receivedAt - acknowledgedAt));
}

async function revokeMany(count: number, query: "" | "?wait=all"): Promise<readonly number[]> {
  const delays: number[] = [];
  const concurrency = 4;
  for (let index = 0; index < count; index += concurrency) {
    delays.push(
      ...(await Promise.all(
        Array.from({ length: Math.min(concurrency, count - index) }, (_, offset) =>
          revokeUnderLoad(index + offset, query),
        ),
      )),
    );
  }
  return delays.toSorted((one, other) => one - other);
}

function percentile(share: number, sorted: readonly number[]): number {
  return Math.round(sorted[Math.ceil(share * sorted.length) - 1] ?? Number.NaN);
}

test(
  "a revoked token is refused on every node within a second, under load on all of them",
  longTest,
  async () => {
    const needed = chooseSize({ ci: 16, show: 52, nightly: 500 });
    const delays = await revokeMany(needed, "");
    expect(percentile(0.99, delays)).toBeLessThanOrEqual(maxMilliseconds);
    recordFigure({
      claim: "keep 9",
      text: `${delays.length} revocations on 3 nodes under load: last success after the response p50 ${percentile(0.5, delays)} ms, p99 ${percentile(0.99, delays)} ms`,
      counted: { reached: delays.length, needed },
    });
  },
);

test("after a revocation with wait=all no request succeeds on any node", async () => {
  const delays = await revokeMany(12, "?wait=all");
  expect(delays).toHaveLength(12);
});

test("wait=all waits for a live node that has not processed the revocation, and not for one without a heartbeat", async () => {
  const superuser = new Client(keep.databaseUrl);
  await superuser.connect();
  const id = generateId();
  const revoke = async (): Promise<number> => {
    const token = await keep.addToken(person, { scopes: ["vaults:read"] });
    return send(`${keep.url}/api/secrets/tokens/${token.id}?wait=all`, revoker, "DELETE");
  };
  try {
    await superuser.query("INSERT INTO node (id) VALUES ($1)", [id]);
    expect(await revoke()).toBe(503);
    await superuser.query("UPDATE node SET heartbeat_at = now() - interval '11 seconds' WHERE id = $1", [id]);
    expect(await revoke()).toBe(204);
  } finally {
    await superuser.query("DELETE FROM node WHERE id = $1", [id]);
    await superuser.end();
  }
});

test("a revocation takes effect within a second even without notifications", async () => {
  const superuser = new Client(keep.databaseUrl);
  await superuser.connect();
  let cuts = 0;
  const cutting = setInterval(() => {
    void superuser
      .query(
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND query LIKE 'LISTEN%'",
      )
      .then(
        ({ rowCount }) => (cuts += rowCount ?? 0),
        () => undefined,
      );
  }, 40);
  try {
    await expect.poll(() => cuts, { timeout: 5000 }).toBeGreaterThanOrEqual(4);
    const delays = await revokeMany(12, "");
    expect(percentile(0.99, delays)).toBeLessThanOrEqual(maxMilliseconds);
    recordFigure({
      claim: "keep 9",
      text: `12 revocations with every listening connection cut (${cuts} times): p99 ${percentile(0.99, delays)} ms`,
      counted: { reached: delays.length, needed: 12 },
    });
  } finally {
    clearInterval(cutting);
    await superuser.end();
  }
});

test("a revocation that commits long after it was written takes effect", async () => {
  const token = await keep.addToken(person, { scopes: ["vaults:read"] });
  const node = nodes[0]?.url ?? "";
  expect(await send(node + vaultsPath, token.text)).toBe(200);
  const slow = new Client(keep.databaseUrl);
  await slow.connect();
  await slow.query("BEGIN");
  await slow.query("UPDATE api_token SET revoked_at = now(), revoke_reason = 'asked' WHERE id = $1", [
    token.id,
  ]);
  await slow.query(
    "INSERT INTO revocation (kind, account_id, subject_id, at) VALUES ('token', $1, $2, now() - interval '5 minutes')",
    [person.accountId, token.id],
  );
  await new Promise((resolve) => setTimeout(resolve, 1500));
  expect(await send(node + vaultsPath, token.text)).toBe(200);
  await slow.query("COMMIT");
  await slow.end();
  await expect.poll(() => send(node + vaultsPath, token.text), { timeout: maxMilliseconds }).toBe(401);
});

test.each([
  ["does not respond", async (proxy: Proxy) => proxy.setFaults([{ kind: "stall", afterBytes: 0 }])],
  [
    "refuses connections",
    async (proxy: Proxy) => {
      await proxy.setFaults([{ kind: "refuse" }]);
      proxy.cutConnections("reset");
    },
  ],
])(
  "a node whose database %s accepts no token after five seconds, and recovers afterwards",
  { timeout: 120_000 },
  async (_name, isolate) => {
    await using proxy = await startFaultProxy({ target: keep.databaseUrl });
    const settings = { trustedProxies: "127.0.0.1" };
    await using node = await startTestKeep({ databaseUrl: proxy.url, key: keep.key, settings });
    const [revoked, kept] = await Promise.all(
      [1, 2].map(() => keep.addToken(person, { scopes: ["vaults:read"] })),
    );
    if (revoked === undefined || kept === undefined) throw new Error("Expected two tokens");
    const url = node.url + vaultsPath;
    expect([await send(url, revoked.text), await send(url, kept.text)]).toEqual([200, 200]);
    await isolate(proxy);
    const isolatedAt = performance.now();
    expect(await send(`${nodes[0]?.url}/api/secrets/tokens/${revoked.id}`, revoker, "DELETE")).toBe(204);
    let lastSuccess = isolatedAt;
    for (let refusals = 0; refusals < 3; ) {
      const statuses = await Promise.all([revoked, kept].map(({ text }) => sendWithTimeout(url, text)));
      expect([200, 503, "timeout"]).toEqual(expect.arrayContaining(statuses));
      if (statuses.includes(200)) lastSuccess = performance.now();
      else refusals += 1;
    }
    expect(lastSuccess - isolatedAt).toBeLessThanOrEqual(5000);
    await proxy.setFaults([]);
    await expect.poll(() => send(url, kept.text), { timeout: 15_000 }).toBe(200);
    await expect.poll(() => send(url, revoked.text), { timeout: 5000 }).toBe(401);
  },
);

type Proxy = Awaited<ReturnType<typeof startFaultProxy>>;
