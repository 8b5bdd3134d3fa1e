import { acquireDatabase } from "@hearth-and-keep/test-servers";
import { Client } from "pg";
import { expect, test } from "vitest";
import { openDatabase } from "./open-database.ts";

test("a terminated listening connection fails only its listener, and a new one receives notifications", async () => {
  await using testDatabase = await acquireDatabase({ name: "empty", prepare: () => Promise.resolve() });
  await using database = await openDatabase({ url: testDatabase.url });
  await using superuser = await connect(testDatabase.url);
  for (let round = 0; round < 3; round += 1) {
    const stop = new AbortController();
    const listening = database.listen("keep_test", () => undefined, stop.signal);
    const outcome = listening.then(
      () => "ended",
      () => "failed",
    );
    await expect.poll(() => superuser.query(cutListeners)).toBeGreaterThan(0);
    expect(await outcome).toBe("failed");
    // Waits until it is gone, so that the next poll does not count it.
    await expect.poll(() => superuser.query(listeners)).toBe(0);
  }
  const stop = new AbortController();
  const notified = Promise.withResolvers<void>();
  const listening = database.listen("keep_test", notified.resolve, stop.signal);
  await expect.poll(() => superuser.query(listeners)).toBe(1);
  await database.query({ text: "SELECT pg_notify('keep_test', '')" });
  await notified.promise;
  stop.abort();
  await listening;
});

test("listening with an aborted signal returns immediately", async () => {
  await using testDatabase = await acquireDatabase({ name: "empty", prepare: () => Promise.resolve() });
  await using database = await openDatabase({ url: testDatabase.url });
  const listening = database.listen("keep_test", () => undefined, AbortSignal.abort());
  await expect(listening).resolves.toBeUndefined();
});

/** Connections whose LISTEN has completed; earlier notifications are not received. */
const listeners =
  "SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND query LIKE 'LISTEN%' AND state = 'idle'";
const cutListeners = `SELECT pg_terminate_backend(pid) FROM (${listeners}) AS listener`;

async function connect(url: string) {
  const client = new Client(url);
  await client.connect();
  return {
    query: async (text: string) => (await client.query(text)).rowCount,
    [Symbol.asyncDispose]: () => client.end(),
  };
}
