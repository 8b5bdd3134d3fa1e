import { expect, test } from "vitest";
import { startTestKeep } from "../test/start-test-keep.ts";
import { generateKeyText } from "./key-encryption-key.ts";
import { asSuperuser } from "./test/tamper-fixtures.ts";

test("with a new key before the old one, everything is rewrapped, and the log says when the old key is no longer needed", async () => {
  const [old, fresh] = [generateKeyText(), generateKeyText()];
  await using keep = await startTestKeep({ key: old });
  const { databaseUrl } = keep;
  const person = await keep.addPerson();
  const { text: token } = await keep.addToken(person, { scopes: ["secrets:read", "secrets:write"] });
  const value = `/api/secrets/vaults/${person.vaultId}/values/by-path/KEY`;
  await keep.request(value.replace("values", "secrets"), { method: "PUT", token, body: { value: "kept" } });
  {
    await using both = await startTestKeep({ databaseUrl, key: `${fresh},${old}` });
    const countReports = () =>
      both.logLines.filter((line) => line.includes("Old encryption key is no longer needed")).length;
    await expect.poll(countReports, { timeout: 20_000 }).toBe(1);
    expect(await (await both.request(value, { token })).json()).toMatchObject({ value: "kept" });
  }
  await using alone = await startTestKeep({ databaseUrl, key: fresh });
  expect(await (await alone.request(value, { token })).json()).toMatchObject({ value: "kept" });
  await expect(startTestKeep({ databaseUrl, key: old })).rejects.toMatchObject({
    failure: { kind: "key-mismatch" },
  });
});

test("Keep does not start without a key that is still needed", async () => {
  const [old, fresh] = [generateKeyText(), generateKeyText()];
  await using keep = await startTestKeep({ key: old });
  const { databaseUrl } = keep;
  await keep.addPerson();
  await asSuperuser(databaseUrl, async (superuser) => {
    await superuser.query("UPDATE key_encryption_key SET status = 'retired'");
    // A fingerprint without a key, as if another node had just activated a different key.
    await superuser.query(
      "INSERT INTO key_encryption_key (fingerprint, status) VALUES (repeat('0', 16), 'active')",
    );
  });
  await expect(startTestKeep({ databaseUrl, key: fresh })).rejects.toMatchObject({
    failure: { kind: "key-mismatch" },
  });
  await asSuperuser(databaseUrl, async (superuser) => {
    await superuser.query("DELETE FROM key_encryption_key WHERE fingerprint = repeat('0', 16)");
    await superuser.query("UPDATE key_encryption_key SET status = 'active'");
  });
  {
    await using both = await startTestKeep({ databaseUrl, key: `${fresh},${old}` });
    expect((await both.request("/readyz")).status).toBe(200);
    await asSuperuser(databaseUrl, async (superuser) => {
      const countOldWraps = async () =>
        (
          await superuser.query(
            "SELECT FROM vault_key JOIN key_encryption_key ON fingerprint = kek_fingerprint WHERE key_encryption_key.status = 'retired'",
          )
        ).rowCount;
      await expect.poll(countOldWraps, { timeout: 20_000 }).toBe(0);
    });
    // A new account on a node that still wraps with the old key.
    await keep.addPerson();
  }
  await expect(startTestKeep({ databaseUrl, key: fresh })).rejects.toMatchObject({
    failure: { kind: "key-mismatch" },
  });
});
