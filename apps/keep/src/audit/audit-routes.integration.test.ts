import { type TrustedAuditMaterial, verifyAuditExport } from "@hearth-and-keep/audit-records";
import { expect, test } from "vitest";
import { generateId } from "../generate-id.ts";
import { openVault } from "../test/open-vault.ts";
import { readJson } from "../test/read-json.ts";
import { startTestKeep, type TestKeep, type TestPerson } from "../test/start-test-keep.ts";

async function recordReads(keep: TestKeep, { accountId, vaultId }: TestPerson, count: number): Promise<void> {
  const { audit, nodeLog } = keep.services;
  const by = { kind: "token", id: generateId(), address: "127.0.0.1" } as const;
  for (let version = 1; version <= count; version += 1) {
    const event = { type: "value-read", secret: generateId(), path: '/a/"type":"denied"', version } as const;
    await audit.recordRead({ accountId, vaultId, by, event });
  }
  await nodeLog.append();
}

type Page = {
  readonly items: readonly { readonly number: number; readonly body: { readonly type: string } }[];
  readonly next_before?: number;
};

test("the log is paged newest first and can be filtered by event type", async () => {
  await using keep = await startTestKeep();
  const person = await keep.addPerson();
  const { text: token } = await keep.addToken(person, { scopes: ["audit:read"] });
  await recordReads(keep, person, 7);
  const read = (query: string): Promise<Page> =>
    readJson(keep.request(`/api/secrets/vaults/${person.vaultId}/audit${query}`, { token }));
  const seen: number[] = [];
  let before: number | undefined;
  do {
    const page = await read(`?limit=3${before === undefined ? "" : `&before=${before}`}`);
    seen.push(...page.items.map(({ number }) => number));
    before = page.next_before;
  } while (before !== undefined);
  expect(seen).toHaveLength(8);
  expect(seen).toEqual(seen.toSorted((left, right) => right - left));
  const created = await read("?type=vault-created");
  expect(created.items.map(({ number, body }) => [number, body.type])).toEqual([[seen[7], "vault-created"]]);
  // The paths of the secrets above contain this type in quotes, which must not match.
  expect((await read("?type=denied")).items).toEqual([]);
});

test("the log can be filtered by actor, secret and time, in any combination", async () => {
  await using vault = await openVault();
  const { id } = await vault.write("/app/KEY", "one");
  const other = await vault.write("/app/OTHER", "two");
  const reader = await vault.addToken({ scopes: ["secrets:read"] });
  for (const path of ["/values/by-path/app/KEY", "/values/by-path/app/OTHER", "/values?path=/app"])
    expect((await vault.as(reader).json("GET", path))[0]).toBe(200);
  const read = async (query: string) => {
    const [status, page] = await vault.json("GET", `/audit?limit=100&${query}`);
    // The response schema.
    const items = page.items as unknown as Page["items"];
    return status === 200 ? items.map(({ body }) => body.type).toSorted() : status;
  };
  expect(await read(`secret=${id}`)).toEqual(["secret-written", "value-read", "values-read"]);
  expect(await read(`secret=${other.id}`)).toEqual(["secret-written", "value-read", "values-read"]);
  expect(await read(`secret=${generateId()}`)).toEqual([]);
  const writer = `token:${vault.token.id}`;
  expect(await read(`actor=${writer}`)).toEqual(["secret-written", "secret-written"]);
  expect(await read(`actor=${writer}&secret=${id}`)).toEqual(["secret-written"]);
  expect(await read(`actor=${writer}&secret=${id}&type=value-read`)).toEqual([]);
  expect(await read("actor=session")).toEqual([]);
  const all = await read("");
  expect(all).toHaveLength(6);
  const [past, future] = [-3_600_000, 3_600_000].map((add) => new Date(Date.now() + add).toISOString());
  expect(await read(`since=${past}`)).toEqual(all);
  expect(await read(`until=${future}&since=${past}`)).toEqual(all);
  expect(await read(`since=${future}`)).toEqual([]);
  expect(await read(`until=${past}`)).toEqual([]);
  for (const query of [
    "actor=somebody",
    `actor=${writer}"`,
    "secret=KEY",
    "since=yesterday",
    "since=2026-02-30T12:00:00Z",
    "until=2026-06-30T23:59:60Z",
  ])
    expect(await read(query), query).toBe(422);
});

test("times between two records list those after, or those before", async () => {
  await using keep = await startTestKeep();
  const person = await keep.addPerson();
  const { text: token } = await keep.addToken(person, { scopes: ["audit:read"] });
  await recordReads(keep, person, 3);
  const read = (query: string): Promise<Page> =>
    readJson(keep.request(`/api/secrets/vaults/${person.vaultId}/audit?${query}`, { token }));
  const { items } = await read("limit=100");
  // Times in requests have milliseconds, numbers microseconds.
  const newest = new Date(Math.ceil((items[0]?.number ?? 0) / 1000)).toISOString();
  expect((await read(`until=${newest}`)).items).toEqual(items);
  expect((await read(`since=${newest}`)).items).toEqual([]);
  const first = new Date(Math.floor((items.at(-1)?.number ?? 0) / 1000)).toISOString();
  expect((await read(`since=${first}`)).items).toEqual(items);
  const page = await read(`since=${first}&limit=2`);
  const rest = await read(`since=${first}&before=${page.next_before ?? ""}`);
  expect([...page.items, ...rest.items]).toEqual(items);
});

test("daily counts have an entry per day and include today's reads and changes", async () => {
  await using keep = await startTestKeep();
  const person = await keep.addPerson();
  const { text: token } = await keep.addToken(person, { scopes: ["audit:read"] });
  await recordReads(keep, person, 3);
  const response = await keep.request(`/api/secrets/vaults/${person.vaultId}/audit/daily?days=7`, { token });
  const { items } = await readJson<{ items: readonly { day: string }[] }>(response);
  expect(items).toHaveLength(7);
  expect(items.at(-1)).toMatchObject({ read: 3, changed: 1, denied: 0, signed_in: 0 });
  expect(items[0]).toMatchObject({ read: 0, changed: 0 });
});

test("exports of a vault's and the account's log verify without a server", async () => {
  await using keep = await startTestKeep();
  const person = await keep.addPerson();
  const { text: token } = await keep.addToken(person, { scopes: ["audit:read"] });
  await recordReads(keep, person, 5);
  const checkpoints = await readJson<{ items: readonly { readonly note: string }[] }>(
    keep.request(`/api/secrets/vaults/${person.vaultId}/audit/checkpoints`, { token }),
  );
  const notes = checkpoints.items.map(({ note }) => note);
  expect(notes).toHaveLength(1);
  const keys = await readJson<TrustedAuditMaterial>(keep.request("/api/secrets/audit/keys", { token }));
  const response = await keep.request(`/api/secrets/vaults/${person.vaultId}/audit/export`, { token });
  expect(response.headers.get("content-type")).toBe("application/x-ndjson");
  const lines = (await response.text()).split("\n");
  expect(await verifyAuditExport(lines, { ...keys, checkpoints: notes })).toMatchObject({
    isValid: true,
    records: 6,
    trustedCheckpoints: 1,
  });
  const own = await (await keep.request("/api/secrets/audit/export", { token })).text();
  expect(await verifyAuditExport(own.split("\n"))).toMatchObject({ isValid: true, stream: person.accountId });
});

test("an exported log, which names every secret, is not kept by any cache", async () => {
  await using keep = await startTestKeep();
  const person = await keep.addPerson();
  const { text: token } = await keep.addToken(person, { scopes: ["audit:read"] });
  for (const path of [`vaults/${person.vaultId}/audit/export`, "audit/export"]) {
    const response = await keep.request(`/api/secrets/${path}`, { token });
    expect([response.status, response.headers.get("cache-control")]).toEqual([200, "no-store"]);
    expect(await response.text()).toContain("-created");
  }
});

test("a token reads only logs that its grant covers completely", async () => {
  await using keep = await startTestKeep();
  const [person, stranger] = [await keep.addPerson(), await keep.addPerson()];
  const tokenOf = async (limits: object) =>
    (await keep.addToken(person, { scopes: ["audit:read"], ...limits })).text;
  const statusesOf = async (token: string) =>
    Promise.all(
      [`vaults/${person.vaultId}/audit`, "audit", `vaults/${stranger.vaultId}/audit`, "vaults/x/audit"].map(
        async (path) => (await keep.request(`/api/secrets/${path}`, { token })).status,
      ),
    );
  expect(await statusesOf(await tokenOf({}))).toEqual([200, 200, 404, 404]);
  expect(await statusesOf(await tokenOf({ vaultIds: [person.vaultId] }))).toEqual([200, 404, 404, 404]);
  expect(await statusesOf(await tokenOf({ vaultIds: [generateId()] }))).toEqual([404, 404, 404, 404]);
  expect(await statusesOf(await tokenOf({ paths: ["/a/**"] }))).toEqual([403, 403, 404, 404]);
  expect(await statusesOf(await tokenOf({ paths: ["/**"] }))).toEqual([200, 200, 404, 404]);
});
