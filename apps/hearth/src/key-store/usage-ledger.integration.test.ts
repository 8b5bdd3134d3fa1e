import { DatabaseSync } from "node:sqlite";
import { setTimeout as sleep } from "node:timers/promises";
import { makeTemporaryFolder } from "@hearth-and-keep/test-servers";
import { describe, expect, test, vi } from "vitest";
import type { KeyStore, RequestRef } from "./key-store.ts";
import { ledgerStatements } from "./sqlite-ledger.ts";
import { sqliteMigrations } from "./sqlite-schema.ts";
import { openSqliteStore } from "./sqlite-store.ts";
import { addKey, backends, createKeyDatabase } from "./test/key-databases.ts";
import type { UsageEntry } from "./usage-ledger.ts";

const hour = 3_600_000;
const minute = 60_000;
const all = { from: 0, to: 4 * 10 ** 12, bucketMilliseconds: hour, limit: 1000 };

function entry(changes: Partial<UsageEntry> = {}): UsageEntry {
  return {
    model: "tiny:latest",
    engine: "fake",
    location: "local",
    inputTokens: 7,
    cachedTokens: 2,
    outputTokens: 5,
    queueMilliseconds: 10,
    loadMilliseconds: 20,
    firstTokenMilliseconds: 30,
    totalMilliseconds: 40,
    stopReason: "stop",
    ...changes,
  };
}

function total(values: readonly Pick<UsageEntry, "inputTokens">[]): number {
  return values.reduce((sum, { inputTokens }) => sum + inputTokens, 0);
}

async function reserve(store: KeyStore, keyId: string, node = "node"): Promise<RequestRef> {
  const decision = await store.reserve(keyId, node, { tokens: 100, inputTokens: 60 });
  return { keyId, number: decision?.number ?? 0 };
}

describe.each(backends)("%s", (backend) => {
  test("settling writes one row with everything that was measured, and charges its tokens, once", async () => {
    await using database = await createKeyDatabase(backend, minute);
    await using store = await database.open();
    const { key } = await addKey(store, { tokensPerDay: 1000 });
    const request = await reserve(store, key.id);
    await store.settle(request, entry({ address: "10.0.0.1:8000", location: "pool" }));
    await store.settle(request, entry({ outputTokens: 99 }));
    const rows = await store.listUsage({ limit: 10 });
    expect(rows).toEqual([
      {
        ...entry({ address: "10.0.0.1:8000", location: "pool" }),
        failure: undefined,
        id: expect.any(Number),
        finishedAt: expect.any(Number),
        key: "alice",
      },
    ]);
    expect(Math.abs((rows[0]?.finishedAt ?? 0) - Date.now())).toBeLessThan(minute);
    expect(await store.usage(key.id)).toMatchObject({ running: 0, tokensToday: 12, tokensThisMonth: 12 });
  });

  test("a request that runs no model is settled without a row", async () => {
    await using database = await createKeyDatabase(backend, minute);
    await using store = await database.open();
    const { key } = await addKey(store, { requestsPerMinute: 10 });
    const decision = await store.reserve(key.id, "dead", { tokens: 0 });
    await store.settle({ keyId: key.id, number: decision?.number ?? 0 }, 0);
    await store.reserve(key.id, "dead", { tokens: 0 });
    await store.renew("living", minute);
    expect(await store.usage(key.id)).toMatchObject({ running: 0, requestsInWindow: 2 });
    expect(await store.listUsage({ limit: 10 })).toEqual([]);
  });

  test("a request of a process that died has a row, charged in full, and its own settlement comes too late", async () => {
    await using database = await createKeyDatabase(backend, minute);
    await using store = await database.open();
    const { key } = await addKey(store, { tokensPerDay: 1000 });
    await store.renew("dead", 0);
    await store.renew("living", minute);
    const dead = await reserve(store, key.id, "dead");
    await store.grow(dead, 50);
    const living = await reserve(store, key.id, "living");
    await store.renew("other", minute);
    await store.settle(dead, entry());
    expect(await store.listUsage({ limit: 10 })).toMatchObject([
      { failure: "interrupted", model: "", location: "", inputTokens: 60, outputTokens: 90 },
    ]);
    await store.settle(living, entry());
    expect(await store.usage(key.id)).toMatchObject({ running: 0, tokensToday: 162 });
  });

  test("rows of requests without a reservation charge keys of the database, and configured ones have no budget", async () => {
    await using database = await createKeyDatabase(backend, minute);
    await using store = await database.open();
    const { key } = await addKey(store);
    await store.record([
      { key: { name: "configured" }, entry: entry() },
      { key: { id: key.id, name: "alice" }, entry: entry() },
      { key: { id: key.id, name: "alice" }, entry: entry({ model: "other", failure: "engine-crashed" }) },
    ]);
    expect(await store.usage(key.id)).toMatchObject({ tokensToday: 24, tokensThisMonth: 24 });
    expect((await store.listUsage({ limit: 10 })).length).toBe(3);
    expect(await store.sumUsage({ ...all, own: { name: "configured" } })).toMatchObject([
      { key: "configured", requests: 1, failed: 0, inputTokens: 7, cachedTokens: 2, outputTokens: 5 },
    ]);
    // A configured key of that name would see the rows of another one.
    expect(await store.sumUsage({ ...all, own: { name: "alice" } })).toEqual([]);
    expect(await store.listUsage({ own: { name: "alice" }, limit: 10 })).toEqual([]);
    expect(await store.sumUsage({ ...all, own: { id: key.id, name: "alice" } })).toMatchObject([
      { model: "other", requests: 1, failed: 1 },
      { model: "tiny:latest", requests: 1, failed: 0 },
    ]);
  });

  test("two nodes that write rows of the same keys at once agree on the sums of all rows", async () => {
    await using database = await createKeyDatabase(backend, minute);
    await using first = await database.open();
    await using second = await database.open();
    const keys = await Promise.all(["a", "b", "c"].map(async (name) => (await addKey(first, { name })).key));
    const batches = Array.from({ length: 20 }, (_, index) =>
      (index % 2 === 0 ? keys : keys.toReversed()).map(({ id, name }) => ({
        key: { id, name },
        entry: entry({ model: `model-${index % 3}`, inputTokens: index }),
      })),
    );
    await Promise.all(batches.map((batch, index) => (index % 2 === 0 ? first : second).record(batch)));
    const sums = await second.sumUsage(all);
    const rows = await first.listUsage({ limit: 1000 });
    expect([rows.length, total(rows), total(sums)]).toEqual([60, 570, 570]);
    for (const { id } of keys) expect((await first.usage(id)).tokensToday).toBe(190 + 20 * 5);
  });

  test("a page of rows begins before its cursor, and filters find names with any characters and nothing else", async () => {
    await using database = await createKeyDatabase(backend, minute);
    await using store = await database.open();
    const odd = [`'; DROP TABLE usage_record; --`, `a%_"b`, "模型:版", "=1+1", "null"];
    await store.record(odd.map((model) => ({ key: { name: "team" }, entry: entry({ model }) })));
    for (const model of odd) {
      for (const filter of [{}, { keyName: "team" }, { own: { name: "team" } }]) {
        const rows = await store.listUsage({ ...filter, model, limit: 10 });
        expect(rows.map((row) => row.model)).toEqual([model]);
      }
      expect(await store.listUsage({ own: { id: "key_1", name: "team" }, model, limit: 10 })).toEqual([]);
    }
    for (const keyName of ["' OR '1'='1", "tea%", "TEAM", ""]) {
      expect(await store.listUsage({ keyName, limit: 10 })).toEqual([]);
    }
    const first = await store.listUsage({ keyName: "team", limit: 2 });
    const before = first.at(-1)?.id;
    const rest = await store.listUsage({ keyName: "team", before, limit: 10 });
    const ids = [...first, ...rest].map(({ id }) => id);
    expect(ids).toEqual(ids.toSorted((one, other) => other - one));
    expect(new Set(ids).size).toBe(odd.length);
  });

  test("renewing deletes rows older than the retention, and budgets keep what they were charged", async () => {
    await using database = await createKeyDatabase(backend, minute, { usageRetentionMilliseconds: 100 });
    await using store = await database.open();
    const { key } = await addKey(store, { tokensPerMonth: 1000 });
    await store.settle(await reserve(store, key.id), entry());
    await store.record(Array.from({ length: 2100 }, () => ({ key: { name: "configured" }, entry: entry() })));
    await sleep(200);
    await store.renew("node", minute);
    // No request waits long for a deletion, so that one renewal is not enough.
    expect((await store.listUsage({ limit: 5000 })).length).toBe(101);
    await store.renew("node", minute);
    expect(await store.listUsage({ limit: 5000 })).toEqual([]);
    expect(await store.usage(key.id)).toMatchObject({ tokensThisMonth: 12 });
    expect((await store.reserve(key.id, "node", { tokens: 989 }))?.denied).toBe("tokensPerMonth");
  });

  test("without a retention, nothing is deleted", async () => {
    await using database = await createKeyDatabase(backend, minute);
    await using store = await database.open();
    await store.record([{ key: { name: "configured" }, entry: entry() }]);
    await sleep(20);
    await store.renew("node", minute);
    expect((await store.listUsage({ limit: 10 })).length).toBe(1);
  });
});

test("rows are found without reading those that a filter excludes, because every stream would wait", async () => {
  await using database = await createKeyDatabase("sqlite", minute);
  await using store = await database.open();
  expect(await store.listUsage({ limit: 10 })).toEqual([]);
  using connection = new DatabaseSync(database.address);
  const { all: everything, ofKey, ofModel, ofKeyAndModel } = ledgerStatements;
  const planOf = (sql: string): string =>
    connection
      .prepare(`EXPLAIN QUERY PLAN ${sql}`)
      .all()
      .map(({ detail }) => String(detail))
      .join("; ");
  expect([everything, ofKey, ofModel, ofKeyAndModel].map(planOf)).toEqual([
    "SEARCH usage_record USING INTEGER PRIMARY KEY (rowid<?)",
    "SEARCH usage_record USING INDEX usage_record_key (key_name=? AND rowid<?)",
    "SEARCH usage_record USING INDEX usage_record_model (model=? AND rowid<?)",
    "SEARCH usage_record USING INDEX usage_record_key_model (key_name=? AND model=? AND rowid<?)",
  ]);
});

test("a clock that jumps back loses no row, and the newest row stays the first", async () => {
  await using database = await createKeyDatabase("sqlite", minute);
  await using store = await database.open();
  const { key } = await addKey(store, { tokensPerDay: 1000 });
  const request = await reserve(store, key.id);
  await store.record([{ key: { name: "team" }, entry: entry({ model: "before" }) }]);
  vi.useFakeTimers({ now: Date.now() - 26 * hour, toFake: ["Date"] });
  try {
    await store.settle(request, entry({ model: "after" }));
    expect((await store.listUsage({ limit: 10 })).map(({ model }) => model)).toEqual(["after", "before"]);
    const sums = await store.sumUsage({ ...all, bucketMilliseconds: 24 * hour });
    expect(sums.map(({ model }) => model)).toEqual(["after", "before"]);
    expect(await store.usage(key.id)).toMatchObject({ running: 0, tokensToday: 12 });
  } finally {
    vi.useRealTimers();
  }
});

test("a database of a version without a ledger keeps its keys, what they used, and requests that run", async () => {
  await using folder = await makeTemporaryFolder("keys");
  const path = `${folder.path}/keys.sqlite`;
  const old = new DatabaseSync(path);
  old.exec(`${sqliteMigrations[0] ?? ""}
    PRAGMA user_version = 1;
    INSERT INTO access_key (id, name, role, sha256, priority, created_at, tokens_per_day) VALUES ('key_1', 'alice', 'inference', 'x', 0, 1, 100);
    INSERT INTO key_state (key_id, last_number) VALUES ('key_1', 1);
    INSERT INTO key_request (key_id, number, node, started_at, tokens) VALUES ('key_1', 1, 'dead', 1, 40);`);
  old.close();
  await using store = openSqliteStore(path);
  await store.renew("living", minute);
  expect(await store.usage("key_1")).toMatchObject({ running: 0, tokensToday: 40 });
  expect(await store.listUsage({ limit: 10 })).toEqual([]);
  const decision = await store.reserve("key_1", "living", { tokens: 60, inputTokens: 10 });
  await store.settle({ keyId: "key_1", number: decision?.number ?? 0 }, entry());
  expect((await store.listUsage({ limit: 10 })).length).toBe(1);
  expect(await store.usage("key_1")).toMatchObject({ tokensToday: 52 });
});
