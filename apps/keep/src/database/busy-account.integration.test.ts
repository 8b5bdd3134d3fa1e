import { setTimeout as sleep } from "node:timers/promises";
import { Client } from "pg";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type OpenedVault, openVault, startUnlimitedKeep } from "../test/open-vault.ts";
import type { TestKeep } from "../test/start-test-keep.ts";
import { openPool } from "./open-pool.ts";

let keep: TestKeep;
/** Fills its limits. */
let busy: OpenedVault;
/** Shares the node with it. */
let other: OpenedVault;

beforeAll(async () => {
  keep = await startUnlimitedKeep();
  busy = await openVault(keep);
  other = await openVault(keep);
  await other.write("/app/KEY", "served");
});
afterAll(() => keep[Symbol.asyncDispose]());

async function addSecrets(vault: OpenedVault, folder: string, count: number): Promise<void> {
  for (let begin = 0; begin < count; begin += 1000) {
    const content = Array.from(
      { length: Math.min(1000, count - begin) },
      (_, index) => `K${begin + index}=v`,
    );
    const [status] = await vault.json("POST", `/import?format=dotenv&path=${folder}`, {
      content: content.join("\n"),
    });
    expect(status).toBe(200);
  }
}

/** Requests of the other account while the work runs: each must succeed. Returns the slowest in milliseconds. */
async function serveOtherDuring(work: Promise<unknown>): Promise<{ slowest: number }> {
  const progress = { isDone: false };
  const done = work.finally(() => {
    progress.isDone = true;
  });
  done.catch(() => undefined);
  let slowest = 0;
  while (!progress.isDone) {
    const startedAt = performance.now();
    const responses = await Promise.all([
      other.request("GET", "/values/by-path/app/KEY"),
      other.request("PUT", `/secrets/by-path/app/${crypto.randomUUID()}`, { body: { value: "x" } }),
      keep.request("/readyz"),
    ]);
    expect(responses.map(({ status }) => status)).toEqual([200, 201, 200]);
    slowest = Math.max(slowest, performance.now() - startedAt);
  }
  await done;
  return { slowest };
}

async function lockVaultOf(vault: OpenedVault, client: Pick<Client, "query">): Promise<void> {
  await client.query("BEGIN");
  await client.query("SELECT FROM vault WHERE id = $1 FOR UPDATE", [vault.person.vaultId]);
}

test("a token with a hundred path patterns lists two thousand secrets without delaying another account", async () => {
  await addSecrets(busy, "/listed", 2000);
  const paths = Array.from({ length: 100 }, (_, index) => `/*/${"x".repeat(900)}${index}/**`);
  const token = await busy.addToken({ scopes: ["secrets:read"], paths: [...paths.slice(1), "/listed/K7"] });
  const list = async () => {
    const [status, { items }] = await busy.as(token).json("GET", "/secrets?recursive=true");
    return [status, items.map(({ path }) => path)];
  };
  const startedAt = performance.now();
  const lists = Promise.all(Array.from({ length: 10 }, list));
  const { slowest } = await serveOtherDuring(lists);
  expect(await lists).toEqual(Array.from({ length: 10 }, () => [200, ["/listed/K7"]]));
  // It took 25 seconds, and other accounts got 503.
  expect(performance.now() - startedAt).toBeLessThan(10_000);
  expect(slowest).toBeLessThan(2000);
});

test("moving and deleting a folder of three thousand secrets takes seconds, and another account is served meanwhile", async () => {
  await addSecrets(busy, "/large", 3000);
  const startedAt = performance.now();
  const changes = (async () => {
    const moved = await busy.json("POST", "/folders/move", { from: "/large", to: "/moved/here" });
    return [moved, await busy.json("DELETE", "/folders?path=/moved/here&recursive=true")];
  })();
  const { slowest } = await serveOtherDuring(changes);
  expect(await changes).toMatchObject([
    [200, { secrets: 3000 }],
    [200, { secrets: 3000 }],
  ]);
  // It took 22 seconds each.
  expect(performance.now() - startedAt).toBeLessThan(20_000);
  expect(slowest).toBeLessThan(2000);
});

test("twelve writers that wait for a locked vault leave connections for others", async () => {
  await using cleanup = new AsyncDisposableStack();
  const blocker = cleanup.adopt(new Client(keep.databaseUrl), (client) => client.end());
  await blocker.connect();
  await lockVaultOf(busy, blocker);
  const writers = Promise.all(
    Array.from({ length: 12 }, (_, index) => busy.json("PUT", `/secrets/by-path/w${index}`, { value: "v" })),
  );
  const { slowest } = await serveOtherDuring(sleep(2000));
  expect(slowest).toBeLessThan(1500);
  await blocker.query("ROLLBACK");
  expect((await writers).map(([status]) => status)).toEqual(Array.from({ length: 12 }, () => 201));
});

test("a vault that another node's silent transaction locks responds after five seconds, and is free after ten", async () => {
  await using cleanup = new AsyncDisposableStack();
  const pool = cleanup.adopt(openPool(keep.databaseUrl, { max: 1, role: "keep_application" }), (opened) =>
    opened.end(),
  );
  const silent = await pool.connect();
  cleanup.defer(() => silent.release(true));
  await silent.query("BEGIN");
  await silent.query("SELECT set_config('keep.account_id', $1, true)", [busy.person.accountId]);
  const { rowCount } = await silent.query("SELECT FROM vault WHERE id = $1 FOR UPDATE", [
    busy.person.vaultId,
  ]);
  expect(rowCount).toBe(1);
  const write = () => busy.json("PUT", "/secrets/by-path/after", { value: "v" });
  expect(await write()).toMatchObject([503, { code: "unavailable" }]);
  await expect.poll(async () => (await write())[0], { timeout: 20_000 }).toBe(201);
});
