import { readFile } from "node:fs/promises";
import { type Checkpoint, checkpointMessage } from "@hearth-and-keep/audit-chain";
import { verifyAuditExport } from "@hearth-and-keep/audit-records";
import { recordFigure } from "@hearth-and-keep/figures";
import { acquireDatabase } from "@hearth-and-keep/test-servers";
import { Client } from "pg";
import { afterAll, beforeAll, expect, test } from "vitest";
import { verifyDatabase } from "../../commands/verify-audit.ts";
import { openDatabase } from "../../database/open-database.ts";
import { generateId } from "../../generate-id.ts";
import { generateKeyText } from "../../keys/key-encryption-key.ts";
import { readJson } from "../../test/read-json.ts";
import { startTestKeep, type TestKeep, type TestPerson } from "../../test/start-test-keep.ts";
import { describeKeys } from "../export/export-stream.ts";

const migrated = {
  name: "keep schema",
  prepare: async (url: string) => (await openDatabase({ url }))[Symbol.asyncDispose](),
};
const links = 5;

/** The function with which earlier versions wrote. */
async function readAppendFunction(): Promise<string> {
  const migration = new URL("../../database/migrations/0005-audit.sql", import.meta.url);
  const text = await readFile(migration, "utf8");
  const [definition] = /CREATE FUNCTION append_audit\([\s\S]*?\nEND \$\$;/u.exec(text) ?? [];
  if (definition === undefined) throw new Error("The migration has no such function");
  return definition;
}

/** Leaves the database as an earlier version would have: no log, and a chain for the vault. */
async function writeAsBefore(superuser: Client, person: TestPerson): Promise<void> {
  await superuser.query(
    "TRUNCATE audit_record, audit_batch, audit_tile, audit_stream, audit_log, audit_count",
  );
  await superuser.query(await readAppendFunction());
  await appendLinks(superuser, person, "before");
}

async function appendLinks(
  superuser: Client,
  { accountId, vaultId }: TestPerson,
  salt: string,
): Promise<void> {
  await superuser.query("SELECT set_config('keep.account_id', $1, false)", [accountId]);
  const bodies = Array.from({ length: links }, (_, place) =>
    place === 0
      ? `{"by":"server","name":"Personal","salt":"${salt}","type":"vault-created","vault":"${vaultId}"}`
      : `{"by":"server","path":"/KEY","salt":"${salt}","secret":"${generateId()}","type":"value-read","version":${place}}`,
  );
  await superuser.query("SELECT append_audit($1, $2, $3, $4, $5)", [
    vaultId,
    bodies,
    bodies.map(() => "read"),
    bodies.map(() => null),
    bodies.map(() => null),
  ]);
}

/** Stores a signed checkpoint of the end of the chain, as earlier versions did; returns it. */
async function signEnd(
  superuser: Client,
  { services: { serverKeys } }: TestKeep,
  chain: string,
): Promise<Checkpoint> {
  const { rows } = await superuser.query<{ seq: string; hash: string }>(
    "SELECT seq, encode(hash, 'hex') AS hash FROM audit_chain WHERE id = $1",
    [chain],
  );
  const content = { chain, seq: Number(rows[0]?.seq), hash: rows[0]?.hash ?? "" };
  const { signature, keyVersion } = serverKeys.sign(checkpointMessage(content));
  await superuser.query(
    "INSERT INTO audit_checkpoint (account_id, chain_id, seq, hash, at, key_version, signature) SELECT account_id, id, seq, hash, now(), $2, $3 FROM audit_chain WHERE id = $1",
    [chain, keyVersion, signature],
  );
  return { ...content, key_version: keyVersion, signature: signature.toString("base64") };
}

let keep: TestKeep;
let superuser: Client;
let person: TestPerson;
let checkpoint: Checkpoint;
const cleanup = new AsyncDisposableStack();

beforeAll(async () => {
  const { url } = cleanup.use(await acquireDatabase(migrated));
  superuser = new Client(url);
  await superuser.connect();
  cleanup.defer(() => superuser.end());
  await superuser.query("SET session_replication_role = replica");
  const key = generateKeyText();
  {
    await using before = await startTestKeep({ databaseUrl: url, key });
    person = await before.addPerson();
    checkpoint = await signedBefore(before);
  }
  keep = cleanup.use(await startTestKeep({ databaseUrl: url, key }));
});
afterAll(() => cleanup.disposeAsync());

async function signedBefore(before: TestKeep): Promise<Checkpoint> {
  await writeAsBefore(superuser, person);
  return signEnd(superuser, before, person.vaultId);
}

type Page = {
  readonly items: readonly {
    readonly log: number;
    readonly number: number;
    readonly body: { readonly type: string };
  }[];
  readonly next_before?: number;
};

async function listAll(token: string): Promise<Page["items"]> {
  const items: Page["items"][number][] = [];
  let before: number | undefined;
  do {
    const query = before === undefined ? "" : `?before=${before}`;
    const path = `/api/secrets/vaults/${person.vaultId}/audit${query}`;
    const page: Page = await readJson<Page>(keep.request(path, { token }));
    items.push(...page.items);
    before = page.next_before;
  } while (before !== undefined);
  return items;
}

/** What the verifications of the export and of the database say. */
async function verifyBoth(token: string) {
  const path = `/api/secrets/vaults/${person.vaultId}/audit/export`;
  const text = await (await keep.request(path, { token })).text();
  const trust = { keys: describeKeys(keep.services.serverKeys), chainCheckpoints: [checkpoint] };
  const printed: string[] = [];
  const { database } = keep;
  const code = await verifyDatabase({}, { database, print: (line) => printed.push(line) });
  return { exported: await verifyAuditExport(text.split("\n"), trust), code, printed: printed.join("\n") };
}

test("a chain of an earlier version is listed after the log, exported with it and verified", async () => {
  const { text: token } = await keep.addToken(person, { scopes: ["audit:read"] });
  const typesOf = async () => (await listAll(token)).map(({ body }) => body.type);
  await expect.poll(typesOf).toContain("chain-carried-over");
  expect(
    (await listAll(token)).map(({ log, number, body }) => [log > 0 ? "log" : number, body.type]),
  ).toEqual([
    ["log", "chain-carried-over"],
    [5, "value-read"],
    [4, "value-read"],
    [3, "value-read"],
    [2, "value-read"],
    [1, "vault-created"],
  ]);
  const genuine = { exported: { isValid: true, records: 1, carriedOver: links }, code: 0 };
  expect(await verifyBoth(token)).toMatchObject(genuine);
  const changes = listChanges(person.vaultId);
  await copyChains();
  for (const { name, apply, exported, printed } of changes) {
    await apply();
    const found = await verifyBoth(token);
    expect([name, found]).toMatchObject([name, { exported: { isValid: false, ...exported }, code: 1 }]);
    expect(found.printed).toContain(printed);
    await restoreChains();
  }
  expect(await verifyBoth(token)).toMatchObject(genuine);
  recordFigure({
    claim: "keep 7",
    text: `${changes.length} of ${changes.length} changes to a chain of an earlier version: found in the export and in the database`,
    counted: { reached: changes.length, needed: 4 },
  });
});

type Change = {
  readonly name: string;
  readonly apply: () => Promise<unknown>;
  readonly exported: object;
  readonly printed: string;
};

function listChanges(chain: string): readonly Change[] {
  return [
    {
      name: "a changed record",
      apply: () =>
        superuser.query(`UPDATE audit_event SET body = replace(body, '/KEY', '/OTHER') WHERE seq = 3`),
      exported: { record: "3" },
      printed: `Chain ${chain} failed verification at record 3`,
    },
    {
      name: "a removed record",
      apply: () => superuser.query("DELETE FROM audit_event WHERE seq = 2"),
      exported: { record: "2" },
      printed: `Chain ${chain} failed verification at record 2`,
    },
    {
      name: "a chain that was written again",
      apply: async () => {
        await superuser.query(
          "DELETE FROM audit_event; DELETE FROM audit_chain; DELETE FROM audit_checkpoint",
        );
        await appendLinks(superuser, person, "again");
        await superuser.query("UPDATE audit_chain SET is_carried_over = true");
      },
      exported: { isValid: false },
      printed: `Chain ${chain} does not end as it was carried over`,
    },
    {
      name: "a removed chain",
      apply: () =>
        superuser.query("DELETE FROM audit_event; DELETE FROM audit_chain; DELETE FROM audit_checkpoint"),
      exported: { reason: "the chain that was carried over is missing" },
      printed: `Chain ${chain} was removed after it was carried over`,
    },
  ];
}

const tables = ["audit_chain", "audit_event", "audit_checkpoint"];

async function copyChains(): Promise<void> {
  for (const table of tables) await superuser.query(`CREATE TABLE true_${table} AS TABLE ${table}`);
}

async function restoreChains(): Promise<void> {
  for (const table of tables) {
    await superuser.query(`DELETE FROM ${table}`);
    await superuser.query(`INSERT INTO ${table} TABLE true_${table}`);
  }
}

test("a chain that is added to a stream of the log is reported", async () => {
  const newcomer = await keep.addPerson();
  await appendLinks(superuser, newcomer, "added");
  await superuser.query("UPDATE audit_chain SET is_carried_over = true");
  const printed: string[] = [];
  const { database } = keep;
  expect(await verifyDatabase({}, { database, print: (line) => printed.push(line) })).toBe(1);
  expect(printed).toContain(`Chain ${newcomer.vaultId} was added: its stream began in the log`);
});
