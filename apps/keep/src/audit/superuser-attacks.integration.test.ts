import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { chooseSize, recordFigure } from "@hearth-and-keep/figures";
import { Hidden } from "@hearth-and-keep/logging";
import { acquireDatabase, makeTemporaryFolder } from "@hearth-and-keep/test-servers";
import { Client } from "pg";
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { verifyDatabase } from "../commands/verify-audit.ts";
import { type Database, openDatabase } from "../database/open-database.ts";
import { generateKeyText, readKeys } from "../keys/key-encryption-key.ts";
import { startUnlimitedKeep } from "../test/open-vault.ts";
import type { TestKeep } from "../test/start-test-keep.ts";
import { describeKeys } from "./export/export-stream.ts";
import {
  accountAttacks,
  identityAttacks,
  sessionAttacks,
  tokenAttacks,
  unnamedChanges,
} from "./test/access-attacks.ts";
import { type Attacked, changeAttacked, createAttacked, signIn } from "./test/attacked-keep.ts";
import {
  attackedTables,
  auditAttacks,
  restoredBesideServer,
  restores,
  serverKeyAttacks,
} from "./test/log-attacks.ts";
import { probeValues, readByOwners } from "./test/probe-values.ts";
import type { Attack, Attacks } from "./test/superuser-attack.ts";
import {
  folderAttacks,
  keyAttacks,
  secretAttacks,
  vaultAttacks,
  versionAttacks,
} from "./test/vault-attacks.ts";

const besideServer = {
  ...tokenAttacks,
  ...sessionAttacks,
  ...identityAttacks,
  ...accountAttacks,
  ...vaultAttacks,
  ...keyAttacks,
  ...secretAttacks,
  ...versionAttacks,
  ...folderAttacks,
};
/** Each needs two servers of its own, so that CI makes every fourth one. */
const stride = chooseSize({ ci: 4, show: 1, nightly: 1 });
const withRestart: Attacks = Object.fromEntries(
  Object.entries({ ...serverKeyAttacks, ...auditAttacks, ...restores }).filter(
    (_attack, index) => index % stride === 0,
  ),
);
const needed = 60;

const migrated = {
  name: "keep schema",
  prepare: async (url: string) => (await openDatabase({ url }))[Symbol.asyncDispose](),
};
const key = generateKeyText();
let databaseUrl: string;
let superuser: Client;
let database: Database;
/** Attacks on different accounts are made at the same time. */
const pairs = 6;
let attacked: readonly Attacked[];
let files: { readonly keysFile: string; readonly checkpointsFile: string };
const cleanup = new AsyncDisposableStack();
const named = new Set<string>();
const readAgain = new Set<string>();
const onlyByCheckpoints: string[] = [];

beforeAll(async () => {
  ({ url: databaseUrl } = cleanup.use(await acquireDatabase(migrated)));
  superuser = new Client(databaseUrl);
  await superuser.connect();
  cleanup.defer(() => superuser.end());
  await superuser.query("SET session_replication_role = replica");
  {
    await using first = await startUnlimitedKeep({ databaseUrl, key });
    attacked = await Array.fromAsync({ length: pairs }, (_, number) => createAttacked(first, number));
    await appendRecords(first);
    await copyTables("earlier");
    for (const each of attacked) await changeAttacked(first, each);
    files = await keepOutside(first);
  }
  // A server that stops has made leaves of all its records.
  await writeCheckpoints();
  await copyTables("true");
  database = cleanup.use(await openDatabase({ url: databaseUrl }));
});
afterAll(() => cleanup.disposeAsync());

/** Makes leaves of all records, so that the log does not change by itself. An export does this on the server. */
async function appendRecords(keep: TestKeep): Promise<void> {
  const token = attacked[0]?.victim.token.text ?? "";
  await (await keep.request("/api/secrets/audit/export", { token })).text();
  await keep.services.nodeLog.append();
  await vi.waitUntil(isLogComplete, { timeout: 10_000 });
}

async function isLogComplete(): Promise<boolean> {
  const { rows } = await superuser.query<{ isComplete: boolean }>(
    'SELECT (SELECT count(*) FROM audit_record) = (SELECT sum(cardinality(numbers)) FROM audit_batch) AS "isComplete"',
  );
  return rows[0]?.isComplete === true;
}

async function copyTables(name: string): Promise<void> {
  for (const table of attackedTables)
    await superuser.query(`CREATE TABLE ${name}_${table} AS TABLE ${table}`);
}

async function restoreTables(tables: readonly string[]): Promise<void> {
  const statements = tables.flatMap((table) => [
    `DELETE FROM ${table}`,
    `INSERT INTO ${table} TABLE true_${table}`,
  ]);
  await superuser.query(["BEGIN", ...statements, "COMMIT"].join("; "));
}

/** The keys and checkpoints, as files that the attacker cannot write. */
async function keepOutside({ services }: TestKeep): Promise<typeof files> {
  const folder = cleanup.use(await makeTemporaryFolder("keep-outside"));
  const [keysFile, checkpointsFile] = [join(folder.path, "keys"), join(folder.path, "checkpoints")];
  await writeFile(keysFile, JSON.stringify({ keys: describeKeys(services.serverKeys) }));
  return { keysFile, checkpointsFile };
}

async function writeCheckpoints(): Promise<void> {
  const { rows } = await superuser.query<{ note: string }>(
    "SELECT note FROM audit_log WHERE note IS NOT NULL",
  );
  const lines = rows.map(({ note }) => `${JSON.stringify({ type: "log-checkpoint", note })}\n`);
  await writeFile(files.checkpointsFile, lines.join(""));
}

/** `keep audit verify --database`. */
async function verify(
  request: Partial<typeof files> = files,
): Promise<readonly [code: number, output: string]> {
  const printed: string[] = [];
  const wrapper = readKeys(new Hidden(key));
  const code = await verifyDatabase(request, { database, wrapper, print: (line) => printed.push(line) });
  return [code, printed.join("\n")];
}

/** Attacks of several kinds, each on accounts of its own. */
type Batch = readonly { readonly kind: string; readonly attack: Attack; readonly on: Attacked }[];

function* batchesOf(attacks: Attacks): Generator<Batch> {
  const [first] = attacked;
  if (first === undefined) throw new Error("Nothing is attacked");
  const kinds = Object.entries(attacks).map(([kind, describe]) => ({ kind, describe }));
  const isGlobal = ({ describe }: (typeof kinds)[number]): boolean => describe(first).isGlobal === true;
  const others = kinds.filter((each) => !isGlobal(each));
  for (let start = 0; start < others.length; start += pairs)
    yield others.slice(start, start + pairs).map(({ kind, describe }, place) => {
      const on = attacked[place] ?? first;
      return { kind, attack: describe(on), on };
    });
  for (const { kind, describe } of kinds.filter(isGlobal))
    yield [{ kind, attack: describe(first), on: first }];
}

async function run(batch: Batch): Promise<void> {
  for (const { attack } of batch) for (const statement of attack.statements) await superuser.query(statement);
}

async function expectNamed(batch: Batch): Promise<void> {
  const [code, output] = await verify();
  for (const { kind, attack } of batch) {
    expect.soft([kind, code, output]).toEqual([kind, 1, expect.stringContaining(attack.named)]);
    if (code === 1 && output.includes(attack.named)) named.add(kind);
  }
}

/** No value leaves a server that must not, and the attacker does not get into another account. */
async function expectNoLeaks(batch: Batch, keep: TestKeep, server: "running" | "restarted"): Promise<void> {
  for (const { kind, attack, on } of batch) {
    const { leaks } = await probeValues(keep, on);
    const isReadAgain =
      attack.isReadAgain === "anywhere" || (attack.isReadAgain !== undefined && server === "restarted");
    expect.soft([kind, server, isReadAgain ? [] : leaks]).toEqual([kind, server, []]);
    if (leaks.length > 0) readAgain.add(kind);
    if (attack.signsIn !== true) continue;
    const entered = await signIn(keep, on.attacker.person).catch(() => undefined);
    expect.soft([kind, server, entered]).toEqual([kind, server, undefined]);
  }
}

async function expectReadByOwners(
  keep: TestKeep,
  batch: readonly Pick<Batch[number], "kind" | "on">[],
): Promise<void> {
  for (const { kind, on } of batch) {
    const { leaks, read } = await probeValues(keep, on, (name) => readByOwners.includes(name));
    expect.soft([kind, leaks, [...read].toSorted()]).toEqual([kind, [], readByOwners.toSorted()]);
  }
}

/** A server that has not read anything yet; undefined when it does not start. */
function startCold(): Promise<TestKeep | undefined> {
  return startUnlimitedKeep({ databaseUrl, key }).catch(() => undefined);
}

async function expectNoLeaksCold(batch: Batch): Promise<void> {
  await using cold = await startCold();
  if (cold !== undefined) await expectNoLeaks(batch, cold, "restarted");
}

const untouched = [0, expect.stringContaining("No changes detected")];

test("each change to accounts, credentials, vaults or secrets is named by keep audit verify", {
  timeout: 120_000,
}, async () => {
  expect(await verify()).toEqual(untouched);
  for (const batch of batchesOf(besideServer)) {
    await run(batch);
    await expectNamed(batch);
    await restoreTables(restoredBesideServer);
  }
  expect(await verify()).toEqual(untouched);
});

test("no value leaves a running or restarted server after a change to accounts, credentials, vaults or secrets", {
  timeout: 120_000,
}, async () => {
  await using warm = await startUnlimitedKeep({ databaseUrl, key });
  for (const on of attacked) await expectReadByOwners(warm, [{ kind: "none", on }]);
  for (const batch of batchesOf(besideServer)) {
    await run(batch);
    await expectNoLeaks(batch, warm, "running");
    await expectNoLeaksCold(batch);
    await restoreTables(restoredBesideServer);
    await expectReadByOwners(warm, batch);
  }
  // With what the servers have recorded meanwhile.
  await appendRecords(warm);
  expect(await verify()).toEqual(untouched);
});

test("changes that are not named give nobody a value", { timeout: 120_000 }, async () => {
  for (const batch of batchesOf(unnamedChanges)) {
    await run(batch);
    const [code, output] = await verify();
    expect([code, output]).toEqual(untouched);
    await using cold = await startUnlimitedKeep({ databaseUrl, key });
    await expectNoLeaks(batch, cold, "restarted");
    await restoreTables(restoredBesideServer);
  }
});

test("no value leaves after a change to the server's keys or the audit log, and each change is named", {
  timeout: 120_000,
}, async () => {
  await restoreTables(attackedTables);
  for (const [kind, describe] of Object.entries(withRestart)) {
    const [on] = attacked;
    if (on === undefined) throw new Error("Nothing is attacked");
    const batch = [{ kind, attack: describe(on), on }];
    {
      await using warm = await startUnlimitedKeep({ databaseUrl, key });
      await expectReadByOwners(warm, batch);
      await appendRecords(warm);
      await run(batch);
      await expectNamed(batch);
      await expectOnlyByCheckpoints(batch);
      await expectNoLeaks(batch, warm, "running");
      await expectNoLeaksCold(batch);
    }
    await restoreTables(attackedTables);
  }
  expect(await verify()).toEqual(untouched);
  const count = Object.keys(besideServer).length + Object.keys(withRestart).length;
  recordFigure({
    claim: "seal 1",
    text: `${named.size} of ${count} kinds of change by a superuser: all named by keep audit verify, ${onlyByCheckpoints.length} of them only by checkpoints kept outside (${onlyByCheckpoints.join("; ")}); no value left but the owner's earlier ones after ${readAgain.size} kinds that restore a consistent earlier state (${[...readAgain].join("; ")}); not named: ${Object.keys(unnamedChanges).join("; ")}`,
    counted: { reached: named.size, needed: count },
  });
  expect(count).toBeGreaterThanOrEqual(needed);
});

async function expectOnlyByCheckpoints(batch: Batch): Promise<void> {
  for (const { kind, attack } of batch) {
    if (attack.needsCheckpoints !== true) continue;
    const [code] = await verify({ keysFile: files.keysFile });
    expect.soft([kind, code]).toEqual([kind, 0]);
    onlyByCheckpoints.push(kind);
  }
}
