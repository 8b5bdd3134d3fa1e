import { type Checkpoint, type VerificationResult, verifyChain } from "@hearth-and-keep/audit-chain";
import { chooseSize, recordFigure } from "@hearth-and-keep/figures";
import { Hidden } from "@hearth-and-keep/logging";
import { Client } from "pg";
import { expect, test } from "vitest";
import { generateId } from "../generate-id.ts";
import { readKeys } from "../keys/key-encryption-key.ts";
import { openServerKeys } from "../keys/server-keys.ts";
import { seededRandom } from "../test/seeded-random.ts";
import { startTestKeep, type TestKeep, type TestPerson } from "../test/start-test-keep.ts";
import { createAuditLog } from "./audit-log.ts";
import { createCheckpointTask } from "./create-checkpoints.ts";
import { parseExport, tampersOf } from "./test/tamper-export.ts";
import { rowTampers } from "./test/tamper-rows.ts";

const cases = {
  exports: chooseSize({ ci: 150, show: 700, nightly: 20_000 }),
  rows: chooseSize({ ci: 60, show: 300, nightly: 5000 }),
};
const checkpointEvery = 12;

/** Creates a chain with checkpoints; returns the checkpoints written to the checkpoint file. */
async function growChain(
  keep: TestKeep,
  { accountId, vaultId }: TestPerson,
  links: number,
): Promise<Checkpoint[]> {
  const audit = createAuditLog(keep.database);
  const serverKeys = await openServerKeys(keep.database, readKeys(new Hidden(keep.key)));
  const storedCheckpoints: Checkpoint[] = [];
  const file = {
    append: async (line: string) => {
      // A line of the checkpoint file is a checkpoint in JSON.
      storedCheckpoints.push(JSON.parse(line) as Checkpoint);
      return true;
    },
  };
  const runCheckpoints = createCheckpointTask(
    { maxAgeSeconds: 0, pollSeconds: 0 },
    { database: keep.database, serverKeys, file, onFileFailed: () => undefined },
  );
  const by = { kind: "token", id: generateId(), address: "127.0.0.1" } as const;
  for (let seq = 2; seq <= links; seq += 1) {
    const event = { type: "value-read", secret: generateId(), path: "/a/b", version: seq } as const;
    const entry = { chain: vaultId, by, event, subject: { id: event.secret, revision: seq } };
    await keep.database.inAccount(accountId, (transaction) => audit.record(transaction, entry));
    if (seq % checkpointEvery === 0 || seq === links) await runCheckpoints();
  }
  return storedCheckpoints.filter(({ chain }) => chain === vaultId);
}

async function exportChain(keep: TestKeep, person: TestPerson): Promise<string> {
  const { text: token } = await keep.addToken(person, { scopes: ["audit:read"] });
  return (await keep.request(`/api/secrets/vaults/${person.vaultId}/audit/export`, { token })).text();
}

const firstBadRecord = (result: VerificationResult): number | undefined =>
  result.isValid ? undefined : result.seq;

test("verification of a tampered export names the first bad record, whatever was changed", {
  timeout: 300_000,
}, async () => {
  await using keep = await startTestKeep();
  const person = await keep.addPerson();
  const checkpoints = await growChain(keep, person, 60);
  const text = await exportChain(keep, person);
  const parsed = parseExport(text);
  expect(parsed.checkpointed).toEqual(checkpoints.map(({ seq }) => seq));
  const trusted = { checkpoints };
  expect(await verifyChain(text.split("\n"), trusted)).toMatchObject({
    isValid: true,
    links: 60,
    checkpoints: 10,
  });
  const kinds = Object.entries(tampersOf(person.vaultId));
  const random = seededRandom(7);
  let detected = 0;
  for (let number = 0; number < cases.exports; number += 1) {
    const [kind, tamper] = kinds[number % kinds.length] ?? random.pick(kinds);
    const { lines, firstBad } = tamper(parsed, random);
    expect([kind, firstBadRecord(await verifyChain(lines, trusted))]).toEqual([kind, firstBad]);
    detected += 1;
  }
  expect(await verifyChain(text.split("\n"), trusted)).toMatchObject({ isValid: true });
  recordFigure({
    claim: "keep 7",
    text: `${detected} tampered exports of ${kinds.length} kinds: the first bad record named in all`,
    counted: { reached: detected, needed: cases.exports },
  });
});

test("verification of a chain tampered with by a superuser names the first bad record, whatever was changed", {
  timeout: 300_000,
}, async () => {
  await using keep = await startTestKeep({ settings: { readsPerMinute: "1000000" } });
  const person = await keep.addPerson();
  const checkpoints = await growChain(keep, person, 30);
  const superuser = new Client(keep.databaseUrl);
  await superuser.connect();
  try {
    const tables = ["audit_event", "audit_chain", "audit_checkpoint"];
    for (const table of tables) await superuser.query(`CREATE TABLE ${table}_copy AS TABLE ${table}`);
    await superuser.query("SET session_replication_role = replica");
    const restoreTables = async () => {
      for (const table of tables) {
        await superuser.query(`DELETE FROM ${table}`);
        await superuser.query(`INSERT INTO ${table} TABLE ${table}_copy`);
      }
    };
    const verify = async () => verifyChain((await exportChain(keep, person)).split("\n"), { checkpoints });
    const kinds = Object.entries(rowTampers);
    const random = seededRandom(77);
    let detected = 0;
    for (let number = 0; number < cases.rows; number += 1) {
      const [kind, tamper] = kinds[number % kinds.length] ?? random.pick(kinds);
      const { statements, firstBad } = tamper(30, random);
      for (const statement of statements) {
        await superuser.query(statement, statement.includes("$1") ? [person.vaultId] : []);
      }
      expect([kind, firstBadRecord(await verify())]).toEqual([kind, firstBad]);
      await restoreTables();
      detected += 1;
    }
    expect(await verify()).toMatchObject({ isValid: true, links: 30 });
    recordFigure({
      claim: "keep 7",
      text: `${detected} tampered chains of ${kinds.length} kinds in the database: the first bad record named in all`,
      counted: { reached: detected, needed: cases.rows },
    });
  } finally {
    await superuser.end();
  }
});
