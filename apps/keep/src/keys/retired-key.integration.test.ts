import { recordFigure } from "@hearth-and-keep/figures";
import { acquireDatabase } from "@hearth-and-keep/test-servers";
import { expect, test } from "vitest";
import { openDatabase } from "../database/open-database.ts";
import { openVault, startUnlimitedKeep } from "../test/open-vault.ts";
import { generateKeyText } from "./key-encryption-key.ts";

type KeyStatus = { readonly status: string; readonly keys: number };

test("a node that starts with the old order of keys does not revive the retired one", async () => {
  await using testDatabase = await acquireDatabase({
    name: "keep schema",
    prepare: async (url) => (await openDatabase({ url }))[Symbol.asyncDispose](),
  });
  const { url: databaseUrl } = testDatabase;
  const [older, newer] = [generateKeyText(), generateKeyText()];
  await (await startUnlimitedKeep({ databaseUrl, key: older }))[Symbol.asyncDispose]();
  await using keep = await startUnlimitedKeep({ databaseUrl, key: `${newer},${older}` });
  await using vault = await openVault(keep);
  await vault.write("/KEY", "kept");
  const wrappedKeys = async () =>
    keep.database.query<KeyStatus>({
      text: "SELECT kek.status, count(server_key.*)::integer AS keys FROM key_encryption_key AS kek LEFT JOIN server_key ON kek_fingerprint = fingerprint GROUP BY kek.fingerprint ORDER BY kek.status",
    });
  const rotated = [
    { status: "active", keys: 3 },
    { status: "retired", keys: 0 },
  ];
  await expect.poll(wrappedKeys, { timeout: 20_000 }).toEqual(rotated);

  await using newOnly = await startUnlimitedKeep({ databaseUrl, key: newer });
  await using stale = await startUnlimitedKeep({ databaseUrl, key: `${older},${newer}` });
  expect(stale.logLines.join("\n")).toContain("The first encryption key was replaced");
  const token = vault.token.text;
  const [status, created] = await vault.json("POST", "/api/secrets/vaults", { name: "later" });
  expect(status).toBe(201);
  const path = `/api/secrets/vaults/${created.id}/secrets/by-path/KEY`;
  const written = await stale.request(path, { method: "PUT", token, body: { value: "by the stale node" } });
  expect(written.status).toBe(201);
  const reads = [
    [newOnly, vault.person.vaultId, "kept"],
    [newOnly, created.id, "by the stale node"],
    [stale, vault.person.vaultId, "kept"],
  ] as const;
  for (const [server, vaultId, value] of reads) {
    const read = await server.request(`/api/secrets/vaults/${vaultId}/values/by-path/KEY`, { token });
    expect([read.status, await read.json()]).toEqual([200, expect.objectContaining({ value })]);
  }
  expect(await wrappedKeys()).toEqual(rotated);
  recordFigure({
    claim: "seal 4",
    text: `a stale node brought no retired key back: ${reads.length} of ${reads.length} reads succeeded on both nodes`,
  });
});
