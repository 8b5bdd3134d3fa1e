import { type TrustedAuditMaterial, verifyAuditExport } from "@hearth-and-keep/audit-records";
import { chooseSize, recordFigure } from "@hearth-and-keep/figures";
import { Client } from "pg";
import { expect, test } from "vitest";
import { generateId } from "../generate-id.ts";
import { seededRandom } from "../test/seeded-random.ts";
import { startTestKeep, type TestKeep, type TestPerson } from "../test/start-test-keep.ts";
import { describeKeys, exportStream } from "./export/export-stream.ts";
import { forgeExport } from "./test/forge-export.ts";
import { notesOf, type ParsedExport, parseExport, tampersOf, write } from "./test/tamper-export.ts";
import { rowTampers, type TamperedStream } from "./test/tamper-rows.ts";
import { verifyLogs } from "./verify/verify-logs.ts";

/** In CI every kind once or twice. */
const cases = {
  exports: chooseSize({ ci: 68, show: 700, nightly: 20_000 }),
  rows: chooseSize({ ci: 39, show: 300, nightly: 5000 }),
};
const recordsPerCheckpoint = 12;

/** Records reads of both persons alternately, in the log of the test's own node. */
async function recordReads(
  { services: { audit, nodeLog } }: TestKeep,
  persons: readonly TestPerson[],
  count: number,
): Promise<void> {
  const by = { kind: "token", id: generateId(), address: "127.0.0.1" } as const;
  for (let version = 1; version <= count; version += 1) {
    for (const { accountId, vaultId } of persons) {
      const event = { type: "value-read", secret: generateId(), path: "/a/b", version } as const;
      const subject = { id: event.secret, revision: version };
      await audit.recordRead({ accountId, vaultId, by, event, subject });
    }
    if (version % recordsPerCheckpoint === 0 || version === count) await nodeLog.append();
  }
}

/** Records of changes in the log of the server. */
async function writeSecrets(keep: TestKeep, person: TestPerson, count: number): Promise<void> {
  const { text: token } = await keep.addToken(person, { scopes: ["secrets:write"] });
  for (let number = 1; number <= count; number += 1) {
    const path = `/api/secrets/vaults/${person.vaultId}/secrets/by-path/${generateId()}`;
    expect((await keep.request(path, { method: "PUT", token, body: { value: "value" } })).status).toBe(201);
  }
}

async function requestExport(keep: TestKeep, person: TestPerson): Promise<string> {
  const { text: token } = await keep.addToken(person, { scopes: ["audit:read"] });
  return (await keep.request(`/api/secrets/vaults/${person.vaultId}/audit/export`, { token })).text();
}

/** Exports as the server does, without a request: an export that fails midway has no end. */
async function readExport({ services }: TestKeep, { accountId, vaultId }: TestPerson): Promise<string> {
  const chunks: string[] = [];
  try {
    for await (const chunk of exportStream({ accountId, stream: vaultId }, services)) chunks.push(chunk);
  } catch {
    // Verification reports the missing end.
  }
  return chunks.join("");
}

const verify = (lines: readonly string[], trusted: TrustedAuditMaterial) => verifyAuditExport(lines, trusted);
const linesOf = (text: string): readonly string[] => text.split("\n");

test("verification of a tampered export names the first bad record, whatever was changed", {
  timeout: 300_000,
}, async () => {
  await using keep = await startTestKeep();
  const [person, stranger] = [await keep.addPerson(), await keep.addPerson()];
  await writeSecrets(keep, person, 10);
  await recordReads(keep, [person, stranger], 20);
  const earlier = parseExport(await requestExport(keep, person));
  await recordReads(keep, [person, stranger], 20);
  await writeSecrets(keep, person, 10);
  const text = await requestExport(keep, person);
  const parsed = parseExport(text);
  const trusted = { keys: describeKeys(keep.services.serverKeys), checkpoints: notesOf(parsed) };
  const genuine = {
    isValid: true,
    records: 61,
    logs: [{ records: 20 }, { records: 41 }],
    trustedCheckpoints: 2,
  };
  expect(await verify(linesOf(text), trusted)).toMatchObject(genuine);
  const others = {
    earlier,
    strangers: parseExport(await requestExport(keep, stranger)),
    forged: await forgeExport(parsed),
  };
  await expectGenuine(others);
  const kinds = Object.entries(tampersOf(others));
  const random = seededRandom(7);
  let detected = 0;
  for (let number = 0; number < cases.exports; number += 1) {
    const [kind, tamper] = kinds[number % kinds.length] ?? random.pick(kinds);
    const { lines, firstBad, record } = tamper(parsed, random);
    const result = await verify(lines, trusted);
    const named = { isValid: false, line: firstBad, ...(record === undefined ? {} : { record }) };
    expect.soft([kind, result]).toMatchObject([kind, named]);
    detected += 1;
  }
  expect(await verify(linesOf(text), trusted)).toMatchObject(genuine);
  recordFigure({
    claim: "keep 7",
    text: `${detected} tampered exports of ${kinds.length} kinds: the first bad line named in all`,
    counted: { reached: detected, needed: cases.exports },
  });
});

/** Each of the other exports verifies by itself, so that only trusted keys and checkpoints tell. */
async function expectGenuine(others: Readonly<Record<string, ParsedExport>>): Promise<void> {
  for (const [name, { lines }] of Object.entries(others)) {
    const result = await verify(write(lines), {});
    expect([name, result]).toMatchObject([name, { isValid: true }]);
  }
}

const tables = ["audit_record", "audit_log", "audit_batch", "audit_tile", "audit_stream"];

async function copyTables(superuser: Client, name: string): Promise<void> {
  for (const table of tables) await superuser.query(`CREATE TABLE ${name}_${table} AS TABLE ${table}`);
}

async function restoreTables(superuser: Client): Promise<void> {
  for (const table of tables) {
    await superuser.query(`DELETE FROM ${table}`);
    await superuser.query(`INSERT INTO ${table} TABLE true_${table}`);
  }
}

/** The person's stream in the log of the test's own node. */
async function describeStream(
  superuser: Client,
  person: TestPerson,
  stranger: TestPerson,
): Promise<TamperedStream> {
  const { rows: logs } = await superuser.query<{ id: number; origin: string }>(
    "SELECT id, origin FROM audit_log WHERE origin LIKE 'test/%'",
  );
  const { id: log, origin } = logs[0] ?? { id: 0, origin: "" };
  const { rows } = await superuser.query<{ number: string }>(
    "SELECT number FROM audit_record WHERE stream_id = $1 AND log_id = $2 ORDER BY number",
    [person.vaultId, log],
  );
  const numbers = rows.map(({ number }) => Number(number));
  const strangers = { account: stranger.accountId, stream: stranger.vaultId };
  return { stream: person.vaultId, log, origin, numbers, strangers };
}

test("verification of a database tampered with by a superuser names what is bad, whatever was changed", {
  timeout: 300_000,
}, async () => {
  await using keep = await startTestKeep();
  const [person, stranger] = [await keep.addPerson(), await keep.addPerson()];
  const superuser = new Client(keep.databaseUrl);
  await superuser.connect();
  try {
    await recordReads(keep, [person, stranger], 12);
    await copyTables(superuser, "earlier");
    await recordReads(keep, [person], 17);
    await recordReads(keep, [stranger], 250);
    await copyTables(superuser, "true");
    await superuser.query("SET session_replication_role = replica");
    const tampered = await describeStream(superuser, person, stranger);
    const keys = describeKeys(keep.services.serverKeys);
    const checkpoints = notesOf(parseExport(await readExport(keep, person)));
    const verifyBoth = async () => ({
      exported: await verify(linesOf(await readExport(keep, person)), { keys, checkpoints }),
      findings: (await verifyLogs({ keys, trustedNotes: checkpoints }, keep)).findings,
    });
    const genuine = { exported: { isValid: true, records: 30, trustedCheckpoints: 1 }, findings: [] };
    expect(await verifyBoth()).toMatchObject(genuine);
    const kinds = Object.entries(rowTampers);
    const random = seededRandom(77);
    let detected = 0;
    for (let number = 0; number < cases.rows; number += 1) {
      const [kind, tamper] = kinds[number % kinds.length] ?? random.pick(kinds);
      const { statements, named, isInExport } = tamper(tampered, random);
      for (const statement of statements) await superuser.query(statement);
      const { exported, findings } = await verifyBoth();
      expect.soft([kind, findings.join("\n")]).toEqual([kind, expect.stringContaining(named)]);
      expect.soft([kind, exported]).toMatchObject([kind, isInExport ? { isValid: false } : {}]);
      await restoreTables(superuser);
      detected += 1;
    }
    expect(await verifyBoth()).toMatchObject(genuine);
    recordFigure({
      claim: "keep 7",
      text: `${detected} changes of ${kinds.length} kinds to the log in the database: what is bad named in all`,
      counted: { reached: detected, needed: cases.rows },
    });
  } finally {
    await superuser.end();
  }
});
