import { expect, test } from "vitest";
import { startTestKeep } from "../test/start-test-keep.ts";
import { makeKeyText } from "./key-encryption-key.ts";
import { inSuperuser } from "./test/tamper-fixtures.ts";

test("a new key first and the old one after it: everything is wrapped anew, and it is told when the old one is not needed", async () => {
  const [old, fresh] = [makeKeyText(), makeKeyText()];
  await using keep = await startTestKeep({ key: old });
  const { databaseUrl } = keep;
  const person = await keep.addPerson();
  const { text: token } = await keep.addToken(person, { scopes: ["secrets:read", "secrets:write"] });
  const value = `/api/secrets/vaults/${person.vaultId}/values/by-path/KEY`;
  await keep.ask(value.replace("values", "secrets"), { method: "PUT", token, body: { value: "kept" } });
  {
    await using both = await startTestKeep({ databaseUrl, key: `${fresh},${old}` });
    const told = () =>
      both.logLines.filter((line) => line.includes("Old encryption key is no longer needed")).length;
    await expect.poll(told, { timeout: 20_000 }).toBe(1);
    expect(await (await both.ask(value, { token })).json()).toMatchObject({ value: "kept" });
  }
  await using alone = await startTestKeep({ databaseUrl, key: fresh });
  expect(await (await alone.ask(value, { token })).json()).toMatchObject({ value: "kept" });
  await expect(startTestKeep({ databaseUrl, key: old })).rejects.toMatchObject({
    failure: { kind: "key-mismatch" },
  });
});

test("a key that something still needs cannot be taken away: the start is refused", async () => {
  const [old, fresh] = [makeKeyText(), makeKeyText()];
  await using keep = await startTestKeep({ key: old });
  const { databaseUrl } = keep;
  await keep.addPerson();
  await inSuperuser(databaseUrl, async (superuser) => {
    await superuser.query("UPDATE key_encryption_key SET status = 'retired'");
    // A fingerprint that is only known by name: as if another node had begun to use this key a moment ago.
    await superuser.query(
      "INSERT INTO key_encryption_key (fingerprint, status) VALUES (repeat('0', 16), 'active')",
    );
  });
  await expect(startTestKeep({ databaseUrl, key: fresh })).rejects.toMatchObject({
    failure: { kind: "key-mismatch" },
  });
  await inSuperuser(databaseUrl, async (superuser) => {
    await superuser.query("DELETE FROM key_encryption_key WHERE fingerprint = repeat('0', 16)");
    await superuser.query("UPDATE key_encryption_key SET status = 'active'");
  });
  {
    await using both = await startTestKeep({ databaseUrl, key: `${fresh},${old}` });
    expect((await both.ask("/readyz")).status).toBe(200);
    await inSuperuser(databaseUrl, async (superuser) => {
      const left = async () =>
        (
          await superuser.query(
            "SELECT FROM vault_key JOIN key_encryption_key ON fingerprint = kek_fingerprint WHERE key_encryption_key.status = 'retired'",
          )
        ).rowCount;
      await expect.poll(left, { timeout: 20_000 }).toBe(0);
    });
    // Somebody signs in at a node that still wraps with the old key.
    await keep.addPerson();
  }
  await expect(startTestKeep({ databaseUrl, key: fresh })).rejects.toMatchObject({
    failure: { kind: "key-mismatch" },
  });
});
