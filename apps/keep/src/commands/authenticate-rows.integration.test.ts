import { Hidden } from "@hearth-and-keep/logging";
import { expect, test } from "vitest";
import { readKeys } from "../keys/key-encryption-key.ts";
import { asSuperuser } from "../keys/test/tamper-fixtures.ts";
import { openVault, startUnlimitedKeep } from "../test/open-vault.ts";
import { authenticateRows } from "./authenticate-rows.ts";

test("a database without authenticated rows is not served until an operator has authenticated them", async () => {
  await using keep = await startUnlimitedKeep();
  const vault = await openVault(keep);
  await vault.write("/KEY", "kept");
  const { databaseUrl, key, database } = keep;
  const start = () => startUnlimitedKeep({ databaseUrl, key });
  // As before there were MACs; also what an attacker would do, to have forged rows signed.
  await asSuperuser(databaseUrl, async (superuser) => {
    await superuser.query("DELETE FROM server_key WHERE purpose = 'integrity'");
    for (const table of ["account", "api_token", "token_route"])
      await superuser.query(`UPDATE ${table} SET mac = NULL`);
    await superuser.query("UPDATE vault SET head = NULL");
  });
  await expect(start()).rejects.toMatchObject({ failure: { kind: "rows-not-authenticated" } });
  const lines: string[] = [];
  const run = () =>
    authenticateRows({ database, wrapper: readKeys(new Hidden(key)), print: (line) => lines.push(line) });
  await run();
  await run();
  expect(lines).toEqual([
    "Authenticated 1 accounts, 1 tokens and 1 vaults as found",
    "The rows of this database are already authenticated",
  ]);
  await using upgraded = await start();
  const path = `/api/secrets/vaults/${vault.person.vaultId}/values/by-path/KEY`;
  expect((await upgraded.request(path, { token: vault.token.text })).status).toBe(200);
});
