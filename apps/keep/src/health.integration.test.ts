import { Client } from "pg";
import { expect, test } from "vitest";
import { handleReady } from "./health.ts";
import { startTestKeep, type TestKeep } from "./test/start-test-keep.ts";

async function changeDatabase({ databaseUrl }: TestKeep, sql: string): Promise<void> {
  const client = new Client(databaseUrl);
  await client.connect();
  try {
    await client.query(sql);
  } finally {
    await client.end();
  }
}

async function readiness(keep: TestKeep): Promise<readonly [number, unknown]> {
  const response = await keep.request("/readyz");
  return [response.status, await response.json()];
}

test("a node is not ready, with a reason, after a newer Keep has migrated its database", async () => {
  await using keep = await startTestKeep();
  expect(await readiness(keep)).toEqual([200, { status: "ready" }]);
  await changeDatabase(
    keep,
    "INSERT INTO schema_migration (number, name, checksum) VALUES (999, 'later', 'x')",
  );
  expect(await readiness(keep)).toEqual([
    503,
    { status: "not ready", reason: "the database was migrated by a newer Keep since this node started" },
  ]);
});

test("a node whose key does not decrypt the server's keys is not ready, with a reason", async () => {
  await using keep = await startTestKeep();
  await changeDatabase(
    keep,
    "UPDATE server_key SET wrapped = set_byte(wrapped, 40, 255 - get_byte(wrapped, 40))",
  );
  expect(await readiness(keep)).toEqual([
    503,
    { status: "not ready", reason: "the encryption key does not decrypt the server's keys" },
  ]);
});

test("a readiness check that takes longer than two seconds means that the database does not respond", async () => {
  const startedAt = performance.now();
  const response = await handleReady(undefined, {
    readinessChecks: [async () => undefined, () => new Promise(() => undefined)],
  });
  expect(response).toMatchObject({
    status: 503,
    body: '{"status":"not ready","reason":"the database does not respond"}',
  });
  expect(performance.now() - startedAt).toBeLessThan(4000);
});

test("a failing readiness check means not ready, and no failing check means ready", async () => {
  const failing = { readinessChecks: [() => Promise.reject(new Error("gone"))] };
  expect((await handleReady(undefined, failing)).status).toBe(503);
  expect((await handleReady(undefined, { readinessChecks: [async () => undefined] })).status).toBe(200);
});
