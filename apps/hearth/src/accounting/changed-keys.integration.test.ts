import { setTimeout as sleep } from "node:timers/promises";
import { chooseSize, recordFigure } from "@hearth-and-keep/figures";
import { expect, test } from "vitest";
import type { KeyStore, StoredKey } from "../key-store/key-store.ts";
import { addKey, backends, createKeyDatabase } from "../key-store/test/key-databases.ts";
import { families, post, speakForever, startLimitedServer } from "./test/start-limited-server.ts";

const minuteMilliseconds = 60_000;
/** Machines that run many tests at once are slow. */
const deadlineMilliseconds = chooseSize({ ci: 10_000, show: 1000, nightly: 1000 });

type Change = {
  readonly what: string;
  readonly before?: Partial<StoredKey>;
  readonly after: (key: StoredKey) => Partial<StoredKey>;
  /** In the last event of each stream, by family. */
  readonly errors: readonly [ollama: string, openai: string, anthropic: string];
};

const changes: readonly Change[] = [
  {
    what: "revoked",
    after: () => ({ revokedAt: Date.now() }),
    errors: ["key-invalid", "invalid_api_key", "authentication_error"],
  },
  {
    what: "expired",
    after: () => ({ expiresAt: Date.now() }),
    errors: ["key-invalid", "invalid_api_key", "authentication_error"],
  },
  {
    what: "with a lower budget",
    before: { tokensPerDay: 1_000_000 },
    after: () => ({ tokensPerDay: 1 }),
    errors: ["budget-exhausted", "insufficient_quota", "rate_limit_error"],
  },
  {
    what: "with fewer tokens per minute",
    before: { tokensPerMinute: 1_000_000 },
    after: () => ({ tokensPerMinute: 1 }),
    errors: ["rate-limited", "rate_limit_exceeded", "rate_limit_error"],
  },
];

/** Reads a stream to its end; the time is that of the last chunk. */
async function readToEnd(response: Response): Promise<{ readonly text: string; readonly at: number }> {
  const text = await response.text();
  return { text, at: performance.now() };
}

type Running = { readonly ended: ReturnType<typeof readToEnd>; readonly error: string };

/** A stream of each family on each server, all of which have begun. */
async function startStreams(
  urls: readonly string[],
  secret: string,
  errors: Change["errors"],
): Promise<readonly Running[]> {
  return Promise.all(
    urls.flatMap((url) =>
      [...families, responses].map(async ({ path, body }, index) => {
        const response = await post({ url, secret, path, body: body({ stream: true, max_tokens: 64_000 }) });
        expect(response.status).toBe(200);
        return { ended: readToEnd(response), error: errors[index] ?? errors[1] };
      }),
    ),
  );
}

const responses = {
  path: "/v1/responses",
  body: () => ({ model: "tiny", input: "Hi", stream: true }),
};

async function change(store: KeyStore, key: StoredKey, after: Partial<StoredKey>): Promise<number> {
  await store.update({ ...key, ...after });
  return performance.now();
}

test.each(backends.flatMap((backend) => changes.map((each) => ({ ...each, backend }))))(
  "$backend: streams of a key that is $what end with their API's error within a second on every node",
  async ({ backend, what, before, after, errors }) => {
    await using database = await createKeyDatabase(backend, minuteMilliseconds);
    await using store = await database.open();
    const { key, secret } = await addKey(store, { ...before });
    const { secret: untouched } = await addKey(store, { name: "bystander", ...before });
    await using first = await startLimitedServer(database, { script: speakForever });
    await using second = await startLimitedServer(database, { script: speakForever });
    const streams = await startStreams([first.url, second.url], secret, errors);
    const leaving = new AbortController();
    const bystander = await post({
      url: first.url,
      secret: untouched,
      path: "/api/chat",
      body: families[0]?.body({ stream: true }),
      signal: leaving.signal,
    });
    const changedAt = await change(store, key, after(key));
    const ended = await Promise.all(streams.map(({ ended: end }) => end));
    const slowest = Math.max(...ended.map(({ at }) => at - changedAt));
    for (const [index, { text }] of ended.entries()) {
      expect(text.trimEnd().split("\n").slice(-3).join("\n")).toContain(streams[index]?.error);
    }
    expect(slowest).toBeLessThan(deadlineMilliseconds);
    for (const { url } of [first, second]) {
      for (const { path, body } of families) {
        expect((await post({ url, secret, path, body: body() })).status).toBeGreaterThanOrEqual(401);
      }
    }
    // Streams of other keys go on.
    const reader = bystander.body?.getReader();
    for (let chunk = 0; chunk < 20; chunk += 1) expect((await reader?.read())?.done).toBe(false);
    leaving.abort();
    recordFigure({
      claim: "share 8",
      text: `${backend}: ${ended.length} of ${streams.length} streams of a key that is ${what} ended on two nodes, the slowest after ${Math.round(slowest)} ms`,
      counted: { reached: ended.length, needed: streams.length },
    });
  },
  60_000,
);

test.each(backends)(
  "%s: a changed role is in force within a second on every node, also for what runs",
  async (backend) => {
    await using database = await createKeyDatabase(backend, minuteMilliseconds);
    await using store = await database.open();
    const { key, secret } = await addKey(store, { role: "admin" });
    await using first = await startLimitedServer(database);
    await using second = await startLimitedServer(database);
    const urls = [first.url, second.url];
    const isAdmin = async (url: string): Promise<boolean> =>
      (await fetch(`${url}/metrics`, { headers: { authorization: `Bearer ${secret}` } })).status === 200;
    for (const url of urls) expect(await isAdmin(url)).toBe(true);
    const digest = `sha256:${"0".repeat(64)}`;
    // An upload that never ends is an admin's request that runs.
    const upload = fetch(`${first.url}/api/blobs/${digest}`, {
      method: "POST",
      headers: { authorization: `Bearer ${secret}` },
      body: new ReadableStream({ start: (controller) => controller.enqueue(new Uint8Array(10)) }),
      duplex: "half",
      signal: AbortSignal.timeout(5000),
    });
    const uploaded = upload.then(
      ({ status }) => status,
      (error: unknown) => (error instanceof Error ? error.name : "unknown"),
    );
    await sleep(100);
    const changedAt = await change(store, key, { role: "inference" });
    for (const url of urls) {
      await expect.poll(() => isAdmin(url), { timeout: deadlineMilliseconds, interval: 20 }).toBe(false);
    }
    const slowest = performance.now() - changedAt;
    expect(slowest).toBeLessThan(deadlineMilliseconds);
    // The rest of the upload is not read, so the client may see the closed connection first.
    expect([403, "TypeError"]).toContain(await uploaded);
    recordFigure({
      claim: "share 8",
      text: `${backend}: a changed role is in force on 2 of 2 nodes after ${Math.round(slowest)} ms`,
      counted: { reached: 2, needed: 2 },
    });
  },
);

test.each(backends)("%s: a lower limit holds for the next request on every node", async (backend) => {
  await using database = await createKeyDatabase(backend, minuteMilliseconds);
  await using store = await database.open();
  const { key, secret } = await addKey(store, { requestsPerMinute: 100 });
  await using first = await startLimitedServer(database);
  await using second = await startLimitedServer(database);
  const [family] = families;
  const send = async (url: string): Promise<number> =>
    (await post({ url, secret, path: family?.path ?? "", body: family?.body() })).status;
  expect(await send(first.url)).toBe(200);
  await change(store, key, { requestsPerMinute: 1 });
  // The limit is read with the reservation, so nothing has to be waited for.
  expect([await send(first.url), await send(second.url)]).toEqual([429, 429]);
});
