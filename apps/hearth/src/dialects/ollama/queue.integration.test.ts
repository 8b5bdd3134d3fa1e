import type { FakeEngineStep } from "@hearth-and-keep/engine/testing";
import { expect, test } from "vitest";
import { accessKey } from "../../access/keys.ts";
import { startTestServer, type TestServer, tiny } from "../../test/start-test-server.ts";

const keys = {
  one: "key-of-the-first-person",
  other: "key-of-another-person",
  admin: "key-of-the-administrator",
};

const endless: readonly FakeEngineStep[] = [
  { do: "write", text: "a" },
  { do: "wait", milliseconds: 60_000 },
];

function startServer(): Promise<TestServer> {
  return startTestServer({
    models: { tiny },
    script: () => endless,
    limits: { sequences: 1, maxQueuedPerModel: 3 },
    access: {
      keys: [
        accessKey("one", keys.one, "inference"),
        accessKey("other", keys.other, "inference"),
        accessKey("admin", keys.admin, "admin"),
      ],
    },
  });
}

type Caller = { readonly server: TestServer; readonly key: string };

function openChat({ server, key }: Caller, signal: AbortSignal): Promise<Response> {
  const messages = [{ role: "user", content: "Hello" }];
  return fetch(`${server.url}/api/chat`, {
    method: "POST",
    headers: { authorization: `Bearer ${key}` },
    body: JSON.stringify({ model: "tiny", messages }),
    signal,
  });
}

type ListedQueue = Readonly<Record<string, unknown>> & { readonly requests: readonly unknown[] };

async function readQueue({ server, key }: Caller) {
  const response = await fetch(`${server.url}/api/queue`, { headers: { authorization: `Bearer ${key}` } });
  // The response of Hearth's own /api/queue.
  const { models } = (await response.json()) as { readonly models: readonly ListedQueue[] };
  return models;
}

test("the queue shows a key its own requests, and an admin those of all keys", async () => {
  await using server = await startServer();
  const clients = new AbortController();
  const open = (key: string): Promise<unknown> =>
    openChat({ server, key }, clients.signal).catch(() => undefined);
  const running = await openChat({ server, key: keys.one }, clients.signal);
  expect(running.headers.get("hearth-queue-position")).toBe(null);
  const waiting = [open(keys.one), open(keys.one), open(keys.other)];
  const read = (key: string) => readQueue({ server, key });
  await expect.poll(() => read(keys.admin)).toMatchObject([{ waiting: 3 }]);
  const [all] = await read(keys.admin);
  expect(all).toMatchObject({ model: "tiny:latest", purpose: "generate", running: 1, slots: 1 });
  // The key that has the slot comes after the one that has none.
  expect(all?.requests).toMatchObject([
    { key: "other", position: 1, estimated_seconds: null },
    { key: "one", position: 2 },
    { key: "one", position: 3 },
  ]);
  const [own] = await read(keys.one);
  expect(own).toMatchObject({ running: 1, waiting: 3 });
  expect(own?.requests).toMatchObject([{ position: 2 }, { position: 3 }]);
  const [others] = await read(keys.other);
  expect(others?.requests).toMatchObject([{ key: "other", position: 1 }]);
  clients.abort();
  await Promise.all(waiting);
  await expect.poll(() => read(keys.admin)).toMatchObject([{ running: 0, waiting: 0, requests: [] }]);
});

test("a key fills only its own queue: it gets 503 with Retry-After, or 529, and another key waits", async () => {
  await using server = await startServer();
  const clients = new AbortController();
  const open = (key: string): Promise<unknown> =>
    openChat({ server, key }, clients.signal).catch(() => undefined);
  await openChat({ server, key: keys.one }, clients.signal);
  const waiting = [open(keys.one), open(keys.one), open(keys.one)];
  await expect.poll(() => readQueue({ server, key: keys.admin })).toMatchObject([{ waiting: 3 }]);
  const refused = await openChat({ server, key: keys.one }, clients.signal);
  expect([refused.status, refused.headers.get("retry-after")]).toEqual([503, "1"]);
  const body = { model: "tiny", max_tokens: 1, messages: [{ role: "user", content: "Hello" }] };
  const overloaded = await fetch(`${server.url}/v1/messages`, {
    method: "POST",
    headers: { "x-api-key": keys.one, "anthropic-version": "2023-06-01" },
    body: JSON.stringify(body),
  });
  expect([overloaded.status, overloaded.headers.get("retry-after")]).toEqual([529, "1"]);
  waiting.push(open(keys.other));
  await expect.poll(() => readQueue({ server, key: keys.admin })).toMatchObject([{ waiting: 4 }]);
  clients.abort();
  await Promise.all(waiting);
});
