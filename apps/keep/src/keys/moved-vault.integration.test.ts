import { Hidden } from "@hearth-and-keep/logging";
import { expect, test } from "vitest";
import { openVault, startUnlimitedKeep } from "../test/open-vault.ts";
import { readKeys } from "./key-encryption-key.ts";
import { unboundKeyAssociatedData, vaultKeyAssociatedData } from "./key-wrapper.ts";
import { asSuperuser } from "./test/tamper-fixtures.ts";

const vaultTables = ["vault_key", "folder", "secret", "secret_version", "audit_record"] as const;

test("a vault that was moved to another account in the database is not decrypted there", async () => {
  await using keep = await startUnlimitedKeep();
  const [victim, attacker] = [await openVault(keep), await openVault(keep)];
  const [, project] = await victim.json("POST", "/api/secrets/vaults", { name: "project" });
  const path = (kind: string) => `/api/secrets/vaults/${project.id}/${kind}/by-path/KEY`;
  expect((await victim.json("PUT", path("secrets"), { value: "of the victim" }))[0]).toBe(201);
  expect(await victim.json("GET", path("values"))).toMatchObject([200, { value: "of the victim" }]);
  const moveTo = (accountId: string) =>
    asSuperuser(keep.databaseUrl, async (superuser) => {
      // Without foreign keys and triggers.
      await superuser.query("SET session_replication_role = replica");
      await superuser.query("UPDATE vault SET account_id = $2 WHERE id = $1", [project.id, accountId]);
      for (const table of vaultTables) {
        const column = table === "audit_record" ? "stream_id" : "vault_id";
        await superuser.query(`UPDATE ${table} SET account_id = $2 WHERE ${column} = $1`, [
          project.id,
          accountId,
        ]);
      }
    });
  await moveTo(attacker.person.accountId);
  // On a node that has the victim's key in memory, and on one that has not.
  await using other = await startUnlimitedKeep({ databaseUrl: keep.databaseUrl, key: keep.key });
  for (const node of [keep, other]) {
    const response = await node.request(path("values"), { token: attacker.token.text });
    expect([response.status, await response.text()]).toEqual([500, expect.not.stringContaining("victim")]);
  }
  await moveTo(victim.person.accountId);
  expect(await victim.json("GET", path("values"))).toMatchObject([200, { value: "of the victim" }]);
});

test("keys whose wraps do not name the account are readable, and are replaced in the background", async () => {
  await using keep = await startUnlimitedKeep();
  const vault = await openVault(keep);
  await vault.write("/KEY", "kept");
  const { accountId, vaultId } = vault.person;
  const wrapper = readKeys(new Hidden(keep.key));
  await asSuperuser(keep.databaseUrl, async (superuser) => {
    const { rows } = await superuser.query<{ wrapped: Buffer }>(
      "SELECT wrapped FROM vault_key WHERE vault_id = $1",
      [vaultId],
    );
    const ref = { accountId, vaultId };
    const { fingerprint } = wrapper;
    const bound = rows[0]?.wrapped ?? Buffer.alloc(0);
    const key = await wrapper.unwrap(bound, vaultKeyAssociatedData(ref, 1, fingerprint), fingerprint);
    const unbound = await wrapper.wrap(key, unboundKeyAssociatedData(ref, 1, fingerprint));
    await superuser.query("UPDATE vault_key SET wrapped = $2, bound_to_account = false WHERE vault_id = $1", [
      vaultId,
      unbound,
    ]);
  });
  await using restarted = await startUnlimitedKeep({ databaseUrl: keep.databaseUrl, key: keep.key });
  const read = async () => {
    const path = `/api/secrets/vaults/${vaultId}/values/by-path/KEY`;
    return (await restarted.request(path, { token: vault.token.text })).status;
  };
  expect(await read()).toBe(200);
  const countUnbound = () =>
    asSuperuser(keep.databaseUrl, async (superuser) => {
      const { rowCount } = await superuser.query("SELECT FROM vault_key WHERE NOT bound_to_account");
      return rowCount;
    });
  await expect.poll(countUnbound, { timeout: 30_000 }).toBe(0);
  expect(await read()).toBe(200);
});
