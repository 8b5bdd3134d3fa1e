import { randomBytes } from "node:crypto";
import { recordFigure } from "@hearth-and-keep/figures";
import { expect, test } from "vitest";
import { accessKey, hashKey } from "../access/keys.ts";
import { addKey, createKeyDatabase } from "../key-store/test/key-databases.ts";
import { startTestServer, tiny } from "../test/start-test-server.ts";
import { openAccounting } from "./open-accounting.ts";
import { families, post, sayHello, startLimitedServer } from "./test/start-limited-server.ts";

const minuteMilliseconds = 60_000;

async function statusOf(url: string, secret: string): Promise<number> {
  const response = await fetch(`${url}/api/tags`, { headers: { authorization: `Bearer ${secret}` } });
  await response.text();
  return response.status;
}

test("no other key is accepted: wrong, changed, of another store, a hash, an id, rotated, revoked or expired", async () => {
  await using database = await createKeyDatabase("sqlite", minuteMilliseconds);
  await using elsewhere = await createKeyDatabase("sqlite", minuteMilliseconds);
  await using store = await database.open();
  await using otherStore = await elsewhere.open();
  const { key, secret } = await addKey(store);
  const { secret: foreign } = await addKey(otherStore);
  const { secret: expired } = await addKey(store, { name: "expired", expiresAt: Date.now() - 1 });
  const revoked = await addKey(store, { name: "revoked" });
  await store.update({ ...revoked.key, revokedAt: Date.now() });
  const rotated = await addKey(store, { name: "rotated" });
  await store.update({ ...rotated.key, sha256: "0".repeat(64) });
  await using server = await startLimitedServer(database);
  const wrong = [
    foreign,
    expired,
    revoked.secret,
    rotated.secret,
    key.sha256,
    key.id,
    key.name,
    secret.slice(0, -1),
    `${secret}A`,
    secret.toLowerCase(),
    secret.replace("hearth_", ""),
    "0".repeat(64),
    "' OR 1=1 --",
  ];
  const statuses = await Promise.all(wrong.map((each) => statusOf(server.url, each)));
  expect(statuses).toEqual(wrong.map(() => 401));
  expect(await statusOf(server.url, secret)).toBe(200);
  expect((await fetch(`${server.url}/api/tags`)).status).toBe(401);
  recordFigure({
    claim: "share 8",
    text: `${statuses.length} of ${wrong.length} wrong keys rejected, and the right one accepted`,
    counted: { reached: statuses.length, needed: wrong.length },
  });
});

test("a server whose keys are all revoked is not open", async () => {
  await using database = await createKeyDatabase("sqlite", minuteMilliseconds);
  await using store = await database.open();
  const { key, secret } = await addKey(store);
  await using server = await startLimitedServer(database);
  expect(await statusOf(server.url, secret)).toBe(200);
  await store.update({ ...key, revokedAt: Date.now() });
  await expect.poll(() => statusOf(server.url, secret), { timeout: 10_000 }).toBe(401);
  expect((await fetch(`${server.url}/api/tags`)).status).toBe(401);
});

test("a stored key cannot take the name of a configured one, which works beside it", async () => {
  await using database = await createKeyDatabase("sqlite", minuteMilliseconds);
  const store = await database.open();
  const { secret } = await addKey(store, { name: "team" });
  const { secret: other } = await addKey(store, { name: "other" });
  await using accounting = await openAccounting(store, () => undefined);
  const { storedKeys, guardRoute } = accounting;
  await using server = await startTestServer({
    models: { tiny },
    script: () => [],
    access: { keys: [accessKey("team", "configured-key", "inference")], storedKeys },
    guardRoute,
  });
  const statuses = [secret, other, "configured-key"].map((each) => statusOf(server.url, each));
  expect(await Promise.all(statuses)).toEqual([401, 200, 200]);
});

/** All refer to the model `other`, or to nothing. */
const spellings = [
  "other",
  "other:latest",
  "OTHER",
  "Other:LATEST",
  "library/other",
  "registry.ollama.ai/library/other:latest",
  "https://registry.ollama.ai/library/other:latest",
  "shortcut",
  "shortcut:latest",
  "tiny-derived",
  "other:latest:local",
];

test("a model that the key may not use is unknown under every spelling and alias, and in every list", async () => {
  await using database = await createKeyDatabase("sqlite", minuteMilliseconds);
  await using store = await database.open();
  const { secret: admin } = await addKey(store, { name: "admin", role: "admin" });
  const { secret } = await addKey(store, { models: ["TINY:latest"] });
  await using server = await startLimitedServer(database);
  const asAdmin = (path: string, body: unknown) => post({ url: server.url, secret: admin, path, body });
  await asAdmin("/api/aliases", { name: "shortcut", model: "other" });
  await asAdmin("/api/aliases", { name: "allowed-shortcut", model: "tiny" });
  await (await asAdmin("/api/create", { model: "tiny-derived", from: "tiny", stream: false })).text();
  await (await asAdmin("/api/chat", families[0]?.body({ model: "other" }))).text();
  const refused = await Promise.all(
    spellings.flatMap((model) =>
      families.map(async ({ path, body }) => {
        const response = await post({ url: server.url, secret, path, body: body({ model }) });
        await response.text();
        return response.status;
      }),
    ),
  );
  expect(new Set(refused)).toEqual(new Set([404]));
  for (const model of ["tiny", "Tiny:latest", "allowed-shortcut"]) {
    for (const { path, body } of families) {
      expect((await post({ url: server.url, secret, path, body: body({ model }) })).status).toBe(200);
    }
  }
  const headers = { authorization: `Bearer ${secret}` };
  for (const path of ["/v1/models", "/alt/v1/models", "/api/tags", "/api/ps", "/api/queue", "/api/aliases"]) {
    const text = await (await fetch(server.url + path, { headers })).text();
    expect(text).toContain("tiny");
    expect(text).not.toMatch(/other|"shortcut|derived/u);
  }
  expect((await post({ url: server.url, secret, path: "/api/show", body: { model: "other" } })).status).toBe(
    404,
  );
  expect((await fetch(`${server.url}/v1/models/other`, { headers })).status).toBe(404);
  recordFigure({
    claim: "share 5",
    text: `${refused.length} of ${spellings.length * families.length} requests for a model that is not allowed found none`,
    counted: { reached: refused.length, needed: spellings.length * families.length },
  });
});

test("a key that is nearly right is looked up by a hash that shares nothing with the right one", async () => {
  await using database = await createKeyDatabase("sqlite", minuteMilliseconds);
  await using store = await database.open();
  const { secret } = await addKey(store);
  await using accounting = await openAccounting(await database.open(), () => undefined);
  // The database holds hashes, so what is compared has nothing in common with a guess that is nearly right.
  const near = hashKey(`${secret.slice(0, -1)}_`);
  const far = hashKey(randomBytes(32).toString("base64url"));
  const right = hashKey(secret);
  expect(
    [countShared(near, right), countShared(far, right)].every((length) => length >= 0 && length < 4),
  ).toBe(true);
  expect([accounting.storedKeys(near), accounting.storedKeys(far)]).toEqual([undefined, undefined]);
  expect(accounting.storedKeys(right)?.name).toBe("alice");
});

function countShared(one: Uint8Array, other: Uint8Array): number {
  return one.findIndex((byte, index) => byte !== other[index]);
}

test("a reservation that could not be settled is settled once the database works again", async () => {
  await using database = await createKeyDatabase("sqlite", minuteMilliseconds);
  await using store = await database.open();
  const { secret } = await addKey(store, { concurrentRequests: 1 });
  const served = await database.open();
  const settle = served.settle.bind(served);
  const errors: unknown[] = [];
  let isBroken = true;
  served.settle = (...request) =>
    isBroken ? Promise.reject(new Error("the disk is full")) : settle(...request);
  await using accounting = await openAccounting(served, (error) => errors.push(error), {
    renewMilliseconds: 50,
  });
  const { storedKeys, guardRoute } = accounting;
  await using server = await startTestServer({
    models: { tiny },
    script: sayHello,
    access: { keys: [], storedKeys },
    guardRoute,
  });
  const [family] = families;
  const send = async (): Promise<number> =>
    (await post({ url: server.url, secret, path: family?.path ?? "", body: family?.body() })).status;
  expect([await send(), await send()]).toEqual([200, 429]);
  await expect.poll(() => errors.length).toBeGreaterThan(1);
  isBroken = false;
  await expect.poll(send, { timeout: 10_000 }).toBe(200);
});
