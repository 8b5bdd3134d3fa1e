import { IntegrityError } from "@hearth-and-keep/envelope-crypto";
import { chooseSize, recordFigure } from "@hearth-and-keep/figures";
import { Hidden } from "@hearth-and-keep/logging";
import { expect, test } from "vitest";
import { generateId } from "../generate-id.ts";
import { readJson } from "../test/read-json.ts";
import { startTestKeep, type TestKeep, type TestPerson } from "../test/start-test-keep.ts";
import { insertNewVault } from "../vaults/create-vault.ts";
import { generateKeyText, readKeys } from "./key-encryption-key.ts";
import { type KeyWrapper, vaultKeyAssociatedData } from "./key-wrapper.ts";
import { type NodeFleet, startFleet } from "./test/node-fleet.ts";
import { asSuperuser } from "./test/tamper-fixtures.ts";

const sizes = chooseSize({
  ci: { kills: 3, vaults: 30, secrets: 20 },
  show: { kills: 10, vaults: 300, secrets: 40 },
  nightly: { kills: 100, vaults: 5000, secrets: 300 },
});
const scopes = ["secrets:read", "secrets:write", "keys:rotate"] as const;

/** Empty vaults, each with a data key to rewrap. */
async function addVaults(keep: TestKeep, { accountId }: TestPerson): Promise<void> {
  await keep.database.inAccount(accountId, async (transaction) => {
    const vault = { kind: "project", name: "Empty", revision: 0, ...keep.services } as const;
    for (let number = 0; number < sizes.vaults; number += 1)
      await insertNewVault(transaction, { accountId, vaultId: generateId() }, vault);
  });
}

async function prepareVault(keep: TestKeep): Promise<{ readonly token: string; readonly vaultId: string }> {
  const person = await keep.addPerson();
  const { vaultId } = person;
  const { text: token } = await keep.addToken(person, { scopes });
  for (let number = 0; number < sizes.secrets; number += 1) {
    const body = { value: `value of S${number}` };
    const path = `/api/secrets/vaults/${vaultId}/secrets/by-path/load/S${number}`;
    expect((await keep.request(path, { method: "PUT", token, body })).status).toBe(201);
  }
  await addVaults(keep, person);
  return { token, vaultId };
}

type Load = { reads: number; writes: number; readonly failures: string[]; isOver: boolean };
type Client = { readonly fleet: NodeFleet; readonly token: string; readonly vaultId: string };

const secretAt = ({ vaultId }: Client, kind: "values" | "secrets", name: string): string =>
  `/api/secrets/vaults/${vaultId}/${kind}/by-path/load/${name}`;

/** Reads values that never change, and collects failures. */
async function keepReading(client: Client, load: Load): Promise<void> {
  const headers = { authorization: `Bearer ${client.token}` };
  for (let turn = 0; !load.isOver; turn += 1) {
    const name = `S${turn % sizes.secrets}`;
    const response = await client.fleet.request(secretAt(client, "values", name), { headers });
    const text = await response.text().catch(() => undefined);
    // The node was killed while sending the response.
    if (text === undefined) continue;
    if (response.status !== 200 || !text.includes(`"value of ${name}"`))
      load.failures.push(`${response.status} ${text}`);
    load.reads += 1;
  }
}

/** Writes, and reads back each acknowledged value; no other client writes these secrets. */
async function keepWriting(client: Client, load: Load): Promise<void> {
  const headers = { authorization: `Bearer ${client.token}`, "content-type": "application/json" };
  for (let turn = 0; !load.isOver; turn += 1) {
    // Stays below the limit of versions per secret.
    const name = `W${Math.floor(turn / 50)}`;
    const value = `${name} ${turn}`;
    const put = {
      method: "PUT",
      headers: { ...headers, "idempotency-key": value },
      body: JSON.stringify({ value }),
    };
    const status = async () => (await client.fleet.request(secretAt(client, "secrets", name), put)).status;
    // Retries with the same idempotency key when a kill leaves the outcome unknown.
    while (![200, 201].includes(await status().catch(() => 503))) if (load.isOver) return;
    const response = await client.fleet.request(secretAt(client, "values", name), { headers });
    const text = await response.text().catch(() => undefined);
    if (text !== undefined && !text.includes(`"value":"${value}"`))
      load.failures.push(`${response.status} ${text}`);
    load.writes += 1;
  }
}

async function rotateDataKey({ fleet, token, vaultId }: Client): Promise<void> {
  const headers = { authorization: `Bearer ${token}`, "idempotency-key": generateId() };
  const started = await fleet.request(`/api/secrets/vaults/${vaultId}/rotate-key`, {
    method: "POST",
    headers,
  });
  const { operation } = await readJson<{ operation: { id: string } }>(started);
  const state = async () => {
    const response = await fleet.request(`/api/secrets/operations/${operation.id}`, { headers });
    return (await readJson<{ state: string }>(response)).state;
  };
  await expect.poll(state, { timeout: 120_000, interval: 200 }).toBe("done");
}

type WrappedRow = {
  account_id: string;
  vault_id: string;
  version: number;
  kek_fingerprint: string;
  wrapped: Buffer;
};

async function readWrappedKeys(url: string) {
  const { rows } = await asSuperuser(url, (superuser) =>
    superuser.query<WrappedRow>(
      "SELECT account_id, vault_id, version, kek_fingerprint, wrapped FROM vault_key",
    ),
  );
  return rows;
}

async function expectUnwrapsNone(
  wrapper: KeyWrapper,
  wrappedKeys: Awaited<ReturnType<typeof readWrappedKeys>>,
): Promise<void> {
  for (const { account_id: accountId, vault_id: vaultId, version, wrapped } of wrappedKeys) {
    const associatedData = vaultKeyAssociatedData({ accountId, vaultId }, version, wrapper.fingerprint);
    await expect(wrapper.unwrap(wrapped, associatedData, wrapper.fingerprint)).rejects.toThrow(
      IntegrityError,
    );
  }
}

test("keys are rotated under load while nodes are killed: every read succeeds, and the old keys decrypt nothing", {
  timeout: 600_000,
}, async () => {
  const [old, fresh] = [generateKeyText(), generateKeyText()];
  await using keep = await startTestKeep({ key: old, settings: { writesPerMinute: "1000000" } });
  const { token, vaultId } = await prepareVault(keep);
  const environment = (keys: string) => ({
    KEEP_DATABASE_URL: keep.databaseUrl,
    KEEP_ENCRYPTION_KEY: keys,
    KEEP_READS_PER_MINUTE: "1000000",
    KEEP_WRITES_PER_MINUTE: "1000000",
  });
  await using fleet = await startFleet(2, environment(`${old},${fresh}`));
  const client = { fleet, token, vaultId };
  const load: Load = { reads: 0, writes: 0, failures: [], isOver: false };
  const working = Promise.all([
    keepReading(client, load),
    keepReading(client, load),
    keepWriting(client, load),
  ]);
  working.catch(() => undefined);
  await fleet.restartWith(environment(`${fresh},${old}`));
  const newFingerprint = readKeys(new Hidden(fresh)).fingerprint;
  const listOldWraps = async () =>
    (await readWrappedKeys(keep.databaseUrl)).filter((row) => row.kek_fingerprint !== newFingerprint);
  let rotations = 0;
  while (fleet.kills < sizes.kills || rotations < 2 || (await listOldWraps()).length > 0) {
    const rotating = rotateDataKey(client);
    for (let kill = 0; kill < 3 && fleet.kills < sizes.kills; kill += 1) {
      await new Promise((resolve) => setTimeout(resolve, Math.random() * 400));
      await fleet.killOne();
    }
    await rotating;
    rotations += 1;
  }
  await fleet.restartWith(environment(fresh));
  load.isOver = true;
  await working;
  expect(load.failures).toEqual([]);
  expect([load.reads > 100, load.writes > 1]).toEqual([true, true]);
  const wrappedKeys = await readWrappedKeys(keep.databaseUrl);
  expect(wrappedKeys.filter(({ vault_id }) => vault_id === vaultId).map(({ version }) => version)).toEqual([
    rotations + 1,
  ]);
  expect([...new Set(wrappedKeys.map((row) => row.kek_fingerprint))]).toEqual([newFingerprint]);
  await expectUnwrapsNone(readKeys(new Hidden(old)), wrappedKeys);
  await expect(startTestKeep({ databaseUrl: keep.databaseUrl, key: old })).rejects.toMatchObject({
    failure: { kind: "key-mismatch" },
  });
  recordFigure({
    claim: "keep 10",
    text: `${load.reads} reads and ${load.writes} writes, ${fleet.kills} kills, ${rotations} data keys and one key-encryption key rotated: no failed read, ${wrappedKeys.length} keys wrapped only by the new key`,
    counted: { reached: fleet.kills, needed: sizes.kills },
  });
});
