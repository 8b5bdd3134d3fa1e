import { Client } from "pg";
import { expect, test } from "vitest";
import { deleteExpired } from "../cleanup/delete-expired.ts";
import { everyScope, type OpenedVault, openVault } from "../test/open-vault.ts";

const vaults = "/api/secrets/vaults";

async function createVault(keep: OpenedVault, name: string): Promise<string> {
  const [status, created] = await keep.json("POST", vaults, { name });
  expect([status, created]).toEqual([
    201,
    expect.objectContaining({ name, kind: "project", is_encrypted: true, most_versions: 100 }),
  ]);
  return created.id;
}

async function asSuperuser(keep: OpenedVault, text: string): Promise<readonly Record<string, unknown>[]> {
  const client = new Client(keep.databaseUrl);
  await client.connect();
  try {
    return (await client.query(text)).rows;
  } finally {
    await client.end();
  }
}

test("a vault is created, read, updated with If-Match, deleted, listed as deleted and restored", async () => {
  await using keep = await openVault();
  const id = await createVault(keep, "Shop");
  const shown = await keep.request("GET", `${vaults}/${id}`);
  const etag = shown.headers.get("etag") ?? "";
  expect(await shown.json()).toEqual({
    id,
    name: "Shop",
    is_encrypted: true,
    created_at: expect.stringMatching(/Z$/),
    kind: "project",
    revision: Number(etag.replaceAll('"', "")),
    demands_preconditions: false,
    most_versions: 100,
    when_versions_full: "destroy-oldest",
    environments: [],
    base: null,
    protected_paths: [],
    updated_at: expect.stringMatching(/Z$/),
  });
  const patch = async (ifMatch: string) =>
    (
      await keep.request("PATCH", `${vaults}/${id}`, {
        body: { name: "Store" },
        headers: { "if-match": ifMatch },
      })
    ).status;
  expect([await patch('"99"'), await patch(etag), await patch(etag)]).toEqual([412, 200, 412]);
  await keep.json("PUT", `${vaults}/${id}/secrets/by-path/A`, { value: "kept" });
  expect((await keep.request("DELETE", `${vaults}/${id}`)).status).toBe(204);
  for (const path of [`${vaults}/${id}`, `${vaults}/${id}/secrets`, `${vaults}/${id}/values/by-path/A`]) {
    expect([path, (await keep.json("GET", path))[0]]).toEqual([path, 404]);
  }
  const listOf = async (query: string) =>
    // The response is a bare array.
    ((await keep.json("GET", vaults + query))[1] as unknown as { id: string }[]).map((each) => each.id);
  expect(await listOf("")).toEqual([keep.person.vaultId]);
  expect(await listOf("?state=deleted")).toEqual([id]);
  expect((await keep.json("POST", `${vaults}/${id}/restore`))[1]).toMatchObject({ id, name: "Store" });
  expect((await keep.json("POST", `${vaults}/${id}/restore`))[0]).toBe(404);
  expect((await keep.json("GET", `${vaults}/${id}/values/by-path/A`))[1]).toMatchObject({ value: "kept" });
});

test("the vault list is paged with Link headers, and a restricted token lists only its vaults", async () => {
  await using keep = await openVault();
  const others = [await createVault(keep, "One"), await createVault(keep, "Two")];
  const all = [keep.person.vaultId, ...others];
  const seen: unknown[] = [];
  let next: string | undefined = `${vaults}?limit=2`;
  while (next !== undefined) {
    const page = await keep.request("GET", next);
    // The response is a bare array.
    seen.push(...((await page.json()) as unknown[]));
    next = /^<(?<path>[^>]+)>; rel="next"$/.exec(page.headers.get("link") ?? "")?.groups?.["path"];
  }
  expect(seen).toMatchObject(all.map((id) => ({ id })));
  const limited = await keep.addToken({ scopes: everyScope, vaultIds: others.slice(0, 1) });
  expect((await keep.as(limited).json("GET", vaults))[1]).toMatchObject([{ id: others[0] }]);
  expect((await keep.as(limited).json("GET", `${vaults}/${others[1]}`))[0]).toBe(404);
});

test("the personal vault cannot be deleted; a purge requires its scope and deletes every row and key", async () => {
  await using keep = await openVault();
  expect((await keep.json("DELETE", ""))[0]).toBe(409);
  expect((await keep.json("DELETE", "?purge=true"))[0]).toBe(409);
  const id = await createVault(keep, "Gone");
  await keep.json("PUT", `${vaults}/${id}/secrets/by-path/f/A`, { value: "x" });
  const weaker = await keep.addToken({ scopes: ["vaults:delete"] });
  expect((await keep.as(weaker).json("DELETE", `${vaults}/${id}?purge=true`))[0]).toBe(403);
  expect((await keep.request("DELETE", `${vaults}/${id}?purge=true`)).status).toBe(204);
  for (const table of ["secret_version", "secret", "folder", "vault_key"]) {
    expect(await asSuperuser(keep, `SELECT FROM ${table} WHERE vault_id = '${id}'`)).toEqual([]);
  }
  expect((await keep.json("POST", `${vaults}/${id}/restore`))[0]).toBe(404);
});

test("an account can have at most 100 vaults", async () => {
  await using keep = await openVault();
  const { accountId } = keep.person;
  await asSuperuser(
    keep,
    `INSERT INTO vault (account_id, id, name, kind) SELECT '${accountId}', gen_random_uuid(), 'x', 'project' FROM generate_series(1, 98)`,
  );
  expect((await keep.json("POST", vaults, { name: "The hundredth" }))[0]).toBe(201);
  expect(await keep.json("POST", vaults, { name: "One more" })).toEqual([
    409,
    expect.objectContaining({ code: "quota_exceeded" }),
  ]);
});

test("expired deletions are purged and recorded with the server as actor, and others stay restorable", async () => {
  await using keep = await openVault();
  const old = await keep.write("/old", "1");
  const young = await keep.write("/young", "2");
  for (const { id } of [old, young]) await keep.request("DELETE", `/secrets/${id}`);
  const gone = await createVault(keep, "Old");
  const kept = await createVault(keep, "Young");
  for (const id of [gone, kept]) await keep.request("DELETE", `${vaults}/${id}`);
  await keep.request("PUT", "/secrets/by-path/K", {
    body: { value: "x" },
    headers: { "idempotency-key": "k" },
  });
  await asSuperuser(
    keep,
    `UPDATE secret SET purge_after = now() WHERE id = '${old.id}'; UPDATE vault SET purge_after = now() WHERE id = '${gone}'; UPDATE idempotent_answer SET created_at = now() - interval '25 hours'`,
  );
  await deleteExpired({ ...keep.services, signal: new AbortController().signal });
  expect((await keep.json("POST", `/secrets/${old.id}/restore`))[0]).toBe(404);
  expect((await keep.json("POST", `/secrets/${young.id}/restore`))[0]).toBe(200);
  expect((await keep.json("POST", `${vaults}/${gone}/restore`))[0]).toBe(404);
  expect((await keep.json("POST", `${vaults}/${kept}/restore`))[0]).toBe(200);
  expect(await asSuperuser(keep, "SELECT FROM idempotent_answer")).toEqual([]);
  const bodies = await asSuperuser(
    keep,
    "SELECT body::json->>'type' AS type FROM audit_record WHERE body::json->>'by' = 'server' AND body::json->>'type' LIKE '%purged' ORDER BY 1",
  );
  expect(bodies.map(({ type }) => type)).toEqual(["secret-purged", "vault-purged", "vault-purged"]);
});
