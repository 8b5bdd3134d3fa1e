import { type TrustedMaterial, verifyChain } from "@hearth-and-keep/audit-chain";
import { expect, test } from "vitest";
import { generateId } from "../generate-id.ts";
import { readJson } from "../test/read-json.ts";
import { startTestKeep, type TestKeep, type TestPerson } from "../test/start-test-keep.ts";
import { createAuditLog } from "./audit-log.ts";

async function recordReads(keep: TestKeep, { accountId, vaultId }: TestPerson, count: number): Promise<void> {
  const audit = createAuditLog(keep.database);
  const by = { kind: "token", id: generateId(), address: "127.0.0.1" } as const;
  for (let version = 1; version <= count; version += 1) {
    const event = { type: "value-read", secret: generateId(), path: '/a/"type":"denied"', version } as const;
    await audit.recordRead(accountId, { chain: vaultId, by, event });
  }
}

type Page = {
  readonly items: readonly { readonly seq: number; readonly body: { readonly type: string } }[];
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
    seen.push(...page.items.map(({ seq }) => seq));
    before = page.next_before;
  } while (before !== undefined);
  expect(seen).toEqual([8, 7, 6, 5, 4, 3, 2, 1]);
  const created = await read("?type=vault-created");
  expect(created.items.map(({ seq, body }) => [seq, body.type])).toEqual([[1, "vault-created"]]);
  // The paths of the secrets above contain this type in quotes, which must not match.
  expect((await read("?type=denied")).items).toEqual([]);
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
  await using keep = await startTestKeep({ settings: { auditCheckpointSeconds: "1" } });
  const person = await keep.addPerson();
  const { text: token } = await keep.addToken(person, { scopes: ["audit:read"] });
  await recordReads(keep, person, 5);
  const checkpoints = `/api/secrets/vaults/${person.vaultId}/audit/checkpoints`;
  const firstCheckpoint = async () => {
    const { items } = await readJson<{ items: readonly unknown[] }>(keep.request(checkpoints, { token }));
    return items[0];
  };
  await expect.poll(firstCheckpoint, { timeout: 10_000 }).toMatchObject({ seq: 6, key_version: 1 });
  const keys = await readJson<TrustedMaterial>(keep.request("/api/secrets/audit/keys", { token }));
  const response = await keep.request(`/api/secrets/vaults/${person.vaultId}/audit/export`, { token });
  expect(response.headers.get("content-type")).toBe("application/x-ndjson");
  const lines = (await response.text()).split("\n");
  expect(await verifyChain(lines, keys)).toMatchObject({ isValid: true, links: 6, checkpoints: 1 });
  const own = await (await keep.request("/api/secrets/audit/export", { token })).text();
  expect(await verifyChain(own.split("\n"))).toMatchObject({ isValid: true, chain: person.accountId });
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
