import { stat } from "node:fs/promises";
import { DatabaseSync } from "node:sqlite";
import { setTimeout as sleep } from "node:timers/promises";
import { chooseSize, recordFigure } from "@hearth-and-keep/figures";
import { describe, expect, test } from "vitest";
import { openKeyDirectory } from "./key-directory.ts";
import type { KeyStore } from "./key-store.ts";
import { selectState } from "./sqlite-store.ts";
import { addKey, backends, createKeyDatabase, findFullest, type Use } from "./test/key-databases.ts";

const width = chooseSize({ ci: 400, show: 3000, nightly: 60_000 });
const windows = chooseSize({ ci: 3, show: 4, nightly: 2 });

/** Machines that run many tests at once are slow. */
const soon = { timeout: chooseSize({ ci: 10_000, show: 1000, nightly: 1000 }), interval: 10 };

/** Tries again and again from many clients for several windows; each use lies between its two moments. */
async function pressOn(
  stores: readonly KeyStore[],
  attempt: (store: KeyStore) => Promise<number>,
): Promise<readonly Use[]> {
  const until = Date.now() + windows * width;
  const clients = Array.from({ length: 50 }).flatMap((_, index) => stores[index % stores.length] ?? []);
  const admitted = await Promise.all(
    clients.map(async (store) => {
      const own: Use[] = [];
      while (Date.now() < until) {
        const from = Date.now();
        const amount = await attempt(store);
        if (amount > 0) own.push({ from, to: Date.now(), amount });
        await sleep(5 + Math.random() * 20);
      }
      return own;
    }),
  );
  return admitted.flat();
}

describe.each(backends)("%s", (backend) => {
  test("requests of 50 clients on two nodes never exceed the limit in any window, and reach it in each", async () => {
    await using database = await createKeyDatabase(backend, width);
    await using first = await database.open();
    await using second = await database.open();
    const { key } = await addKey(first, { requestsPerMinute: 20 });
    const numbers: number[] = [];
    const admitted = await pressOn([first, second], async (store) => {
      const decision = await store.reserve(key.id, "node", { tokens: 0 });
      if (decision === undefined || decision.denied !== undefined) return 0;
      numbers.push(decision.number);
      await store.settle({ keyId: key.id, number: decision.number }, 0);
      return 1;
    });
    expect(new Set(numbers).size).toBe(numbers.length);
    const fullest = findFullest(admitted, width);
    expect(fullest).toBeLessThanOrEqual(20);
    expect(admitted.length).toBeGreaterThan(20);
    recordFigure({
      claim: "share 5",
      text: `${backend}, 50 clients, 2 nodes: at most ${fullest} of 20 requests in any window, ${admitted.length} admitted in ${windows} windows`,
      counted: { reached: fullest <= 20 ? 1 : 0, needed: 1 },
    });
  }, 240_000);

  test("tokens of 50 clients on two nodes never exceed the limit in any window", async () => {
    await using database = await createKeyDatabase(backend, width);
    await using first = await database.open();
    await using second = await database.open();
    const { key } = await addKey(first, { tokensPerMinute: 1000 });
    const admitted = await pressOn([first, second], async (store) => {
      const decision = await store.reserve(key.id, "node", { tokens: 80 });
      if (decision === undefined || decision.denied !== undefined) return 0;
      await sleep(10);
      const used = 20 + Math.floor(Math.random() * 60);
      await store.settle({ keyId: key.id, number: decision.number }, used);
      return used;
    });
    const fullest = findFullest(admitted, width);
    expect(fullest).toBeLessThanOrEqual(1000);
    expect(admitted.reduce((sum, { amount }) => sum + amount, 0)).toBeGreaterThan(800);
    recordFigure({
      claim: "share 5",
      text: `${backend}, 50 clients, 2 nodes: at most ${fullest} of 1000 tokens in any window`,
      counted: { reached: fullest <= 1000 ? 1 : 0, needed: 1 },
    });
  }, 240_000);

  test("requests at the same time never exceed the limit", async () => {
    await using database = await createKeyDatabase(backend, width);
    await using first = await database.open();
    await using second = await database.open();
    const { key } = await addKey(first, { concurrentRequests: 3 });
    let running = 0;
    let most = 0;
    const admitted = await pressOn([first, second], async (store) => {
      const decision = await store.reserve(key.id, "node", { tokens: 0 });
      if (decision === undefined || decision.denied !== undefined) return 0;
      running += 1;
      most = Math.max(most, running);
      // On a slow machine the others need longer to be admitted beside it.
      await sleep(most < 3 ? 100 : 5);
      running -= 1;
      await store.settle({ keyId: key.id, number: decision.number }, 0);
      return 1;
    });
    expect(most).toBe(3);
    expect(admitted.length).toBeGreaterThan(3);
  }, 240_000);

  test("a budget is spent to the last token and never beyond, whatever was reserved meanwhile", async () => {
    await using database = await createKeyDatabase(backend, width);
    await using first = await database.open();
    await using second = await database.open();
    for (const limit of ["tokensPerDay", "tokensPerMonth"] as const) {
      const { key } = await addKey(first, { name: limit, [limit]: 5000 });
      const spend = async (store: KeyStore): Promise<number> => {
        const decision = await store.reserve(key.id, "node", { tokens: 60 });
        if (decision === undefined || decision.denied !== undefined) return 0;
        await sleep(Math.random() * 5);
        await store.settle({ keyId: key.id, number: decision.number }, 40);
        return 40;
      };
      const workers = [first, second].flatMap((store) => Array.from({ length: 25 }, () => store));
      const spent = await Promise.all(
        workers.map(async (store) => (await spend(store)) + (await spend(store)) + (await spend(store))),
      );
      const total = spent.reduce((sum, tokens) => sum + tokens, 0);
      expect(total).toBeLessThanOrEqual(5000);
      const { tokensToday, tokensThisMonth } = await first.usage(key.id);
      expect([tokensToday, tokensThisMonth]).toEqual([total, total]);
      const last = await second.reserve(key.id, "node", { tokens: 5001 - total });
      expect(last).toMatchObject({ denied: limit });
      expect(last?.waitMilliseconds).toBeGreaterThan(0);
      const rest = await second.reserve(key.id, "node", { tokens: 5000 - total });
      expect(rest?.denied).toBeUndefined();
    }
  });

  test("a running request grows only as far as the limit allows", async () => {
    await using database = await createKeyDatabase(backend, width);
    await using store = await database.open();
    const { key } = await addKey(store, { tokensPerMinute: 100 });
    const started = await store.reserve(key.id, "node", { tokens: 60 });
    const request = { keyId: key.id, number: started?.number ?? 0 };
    expect(await store.grow(request, 41)).toMatchObject({ denied: "tokensPerMinute", tokensInWindow: 60 });
    expect(await store.grow(request, 40)).toMatchObject({ tokensInWindow: 100 });
    await store.settle(request, 10);
    await store.settle(request, 90);
    expect(await store.usage(key.id)).toMatchObject({ tokensInWindow: 10, tokensToday: 10, running: 0 });
  });

  test("a request counts for the window in which it started, and its tokens until a window after its end", async () => {
    const second = 1000;
    await using database = await createKeyDatabase(backend, second);
    await using store = await database.open();
    const { key } = await addKey(store, { requestsPerMinute: 3, tokensPerMinute: 100 });
    const reserve = () => store.reserve(key.id, "node", { tokens: 5 });
    const ended = await reserve();
    await store.settle({ keyId: key.id, number: ended?.number ?? 0 }, 2);
    await reserve();
    expect(await reserve()).toMatchObject({ requestsInWindow: 3, tokensInWindow: 12 });
    const denied = await reserve();
    expect(denied).toMatchObject({ denied: "requestsPerMinute", requestsInWindow: 3, tokensInWindow: 12 });
    expect(denied?.waitMilliseconds).toBeGreaterThan(0);
    expect(denied?.waitMilliseconds).toBeLessThanOrEqual(second);
    await sleep(second + 10);
    // Two of them still run.
    expect(await reserve()).toMatchObject({ number: 4, requestsInWindow: 1, tokensInWindow: 15 });
  });

  test("requests of a node that died are settled in full by another one, and of a living one not", async () => {
    await using database = await createKeyDatabase(backend, width);
    await using store = await database.open();
    const { key } = await addKey(store, { tokensPerDay: 1000 });
    await store.renew("dying", 50);
    await store.renew("living", 60_000);
    await store.reserve(key.id, "dying", { tokens: 300 });
    await store.reserve(key.id, "living", { tokens: 200 });
    await sleep(100);
    await store.renew("living", 60_000);
    expect(await store.usage(key.id)).toMatchObject({ running: 1, tokensToday: 500 });
  });

  test("a change in one process reaches the directory of another within a second", async () => {
    await using database = await createKeyDatabase(backend, width);
    await using writer = await database.open();
    const reader = await database.open();
    await using keys = await openKeyDirectory(reader, { onError: (error) => expect.fail(String(error)) });
    const { key } = await addKey(writer);
    await expect.poll(() => keys.get(key.id)?.role, soon).toBe("inference");
    await writer.update({ ...key, role: "admin" });
    await expect.poll(() => keys.get(key.id)?.role, soon).toBe("admin");
    await writer.update({ ...key, revokedAt: Date.now() });
    await expect.poll(() => keys.get(key.id), soon).toBeUndefined();
    await writer.update({ ...key, expiresAt: Date.now() + 300 });
    await expect.poll(() => keys.get(key.id)?.role, soon).toBe("inference");
    await expect.poll(() => keys.get(key.id), soon).toBeUndefined();
    await keys[Symbol.asyncDispose]();
    await reader[Symbol.asyncDispose]();
  });

  test("no name is given twice, and the secret is not in the database", async () => {
    await using database = await createKeyDatabase(backend, width);
    await using store = await database.open();
    const { secret } = await addKey(store);
    await expect(addKey(store)).rejects.toThrow("twice");
    expect(JSON.stringify(await store.list())).not.toContain(secret.slice(7));
  });
});

test("a window is counted from one index, because every stream waits meanwhile", async () => {
  await using database = await createKeyDatabase("sqlite", width);
  await using store = await database.open();
  expect(await store.list()).toEqual([]);
  using connection = new DatabaseSync(database.address);
  const plan = connection.prepare(`EXPLAIN QUERY PLAN ${selectState}`).all();
  const reads = plan.map(({ detail }) => String(detail)).filter((detail) => detail.includes("key_request"));
  expect(reads).toEqual([
    "SEARCH key_request USING COVERING INDEX key_request_window (key_id=? AND settled_at>?)",
    "SEARCH key_request USING COVERING INDEX key_request_window (key_id=? AND settled_at=?)",
    "SEARCH key_request USING PRIMARY KEY (key_id=? AND number=?)",
    "SEARCH key_request USING COVERING INDEX key_request_window (key_id=?)",
  ]);
});

test("only the user can read the file of keys, and a file of a newer version is left alone", async () => {
  await using database = await createKeyDatabase("sqlite", width);
  await using store = await database.open();
  await addKey(store);
  const modes = await Promise.all(
    ["", "-wal", "-shm"].map(async (suffix) => (await stat(database.address + suffix)).mode & 0o777),
  );
  expect(modes).toEqual([0o600, 0o600, 0o600]);
  using newer = new DatabaseSync(database.address);
  newer.exec("PRAGMA user_version = 999");
  await expect(database.open()).rejects.toThrow("newer version");
});
