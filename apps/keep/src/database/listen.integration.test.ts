import { acquireDatabase } from "@hearth-and-keep/test-servers";
import { Client } from "pg";
import { expect, test } from "vitest";
import { openDatabase } from "./open-database.ts";

test("a listening connection that is cut fails its listener alone, and another hears again", async () => {
  await using lent = await acquireDatabase({ name: "empty", prepare: () => Promise.resolve() });
  await using database = await openDatabase({ url: lent.url });
  await using superuser = await connect(lent.url);
  for (let round = 0; round < 3; round += 1) {
    const end = new AbortController();
    const listening = database.listen("keep_test", () => undefined, end.signal);
    const outcome = listening.then(
      () => "ended",
      () => "failed",
    );
    await expect.poll(() => superuser.ask(cutListeners)).toBeGreaterThan(0);
    expect(await outcome).toBe("failed");
    // One that is about to be gone would be taken for the next.
    await expect.poll(() => superuser.ask(listeners)).toBe(0);
  }
  const end = new AbortController();
  const heard = Promise.withResolvers<void>();
  const listening = database.listen("keep_test", heard.resolve, end.signal);
  await expect.poll(() => superuser.ask(listeners)).toBe(1);
  await database.ask({ text: "SELECT pg_notify('keep_test', '')" });
  await heard.promise;
  end.abort();
  await listening;
});

test("listening after the end was asked for ends at once", async () => {
  await using lent = await acquireDatabase({ name: "empty", prepare: () => Promise.resolve() });
  await using database = await openDatabase({ url: lent.url });
  const listening = database.listen("keep_test", () => undefined, AbortSignal.abort());
  await expect(listening).resolves.toBeUndefined();
});

/** Those whose LISTEN is done: what is notified before that, they do not hear. */
const listeners =
  "SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND query LIKE 'LISTEN%' AND state = 'idle'";
const cutListeners = `SELECT pg_terminate_backend(pid) FROM (${listeners}) AS listener`;

async function connect(url: string) {
  const client = new Client(url);
  await client.connect();
  return {
    ask: async (text: string) => (await client.query(text)).rowCount,
    [Symbol.asyncDispose]: () => client.end(),
  };
}
