import { setTimeout as sleep } from "node:timers/promises";
import { chooseSize, recordFigure, scale } from "@hearth-and-keep/figures";
import { type Postgres, startPostgres } from "@hearth-and-keep/test-servers";
import { expect, test } from "vitest";
import { adoptRecords } from "../audit/adopt-records.ts";
import { describeKeys } from "../audit/export/export-stream.ts";
import { listUnloggedRecords } from "../audit/queries.ts";
import { verifyLogs } from "../audit/verify/verify-logs.ts";
import { generateId } from "../generate-id.ts";
import { type OpenedVault, openVault, startUnlimitedKeep } from "../test/open-vault.ts";
import { type ServingNode, startServingNode } from "../test/serving-node.ts";

const writes = chooseSize({ ci: 150, show: 5000, nightly: 100_000 });
const writers = 6;
const readers = 4;
const minKills = chooseSize({ ci: 6, show: 30, nightly: 200 });
/** Every so many kills are one of the database instead of a node. */
const databaseKillEvery = 6;
const killMilliseconds = 300;

type Written = { readonly name: string; readonly value: string; readonly tries: number };

/** Three nodes, of which one at a time is killed and restarted, or the database of all of them. */
async function startNodes(postgres: Postgres, databaseUrl: string, key: string) {
  const environment = { KEEP_WRITES_PER_MINUTE: "10000000", KEEP_READS_PER_MINUTE: "10000000" };
  const start = (): Promise<ServingNode> => startServingNode(databaseUrl, key, environment);
  const nodes = await Promise.all([start(), start(), start()]);
  const kills = { nodes: 0, database: 0 };
  /** Restarts under way, by node; meanwhile the others serve, or are killed too. */
  const restarts = new Map<number, Promise<void>>();
  const restart = async (index: number): Promise<void> => {
    nodes[index] = await start();
  };
  const killNode = async (): Promise<void> => {
    const index = kills.nodes % nodes.length;
    await restarts.get(index);
    const victim = nodes[index];
    if (victim === undefined) throw new Error("No such node");
    process.kill(victim.pid, "SIGKILL");
    await victim.exited;
    kills.nodes += 1;
    restarts.set(index, restart(index));
  };
  const killDatabase = async (): Promise<void> => {
    // A node does not start without its database.
    await Promise.all(restarts.values());
    await postgres.crash();
    kills.database += 1;
    await postgres.startAgain();
  };
  return {
    urlOf: (turn: number): string => nodes[turn % nodes.length]?.url ?? "",
    kills,
    kill: () =>
      (kills.nodes + kills.database) % databaseKillEvery === databaseKillEvery - 1
        ? killDatabase()
        : killNode(),
    async stop() {
      await Promise.all(restarts.values());
      await Promise.all(nodes.map((node) => node.stop()));
    },
  };
}

type Nodes = Awaited<ReturnType<typeof startNodes>>;

/** Retries until the write is acknowledged, with the same key, because an interrupted request may have committed. */
async function writeUntilAcknowledged(
  path: string,
  {
    token,
    value,
    urlOf,
  }: { readonly token: string; readonly value: string; readonly urlOf: (turn: number) => string },
): Promise<number> {
  const key = generateId();
  for (let turn = 0; ; turn += 1) {
    const status = await fetch(new URL(path, urlOf(turn)), {
      method: "PUT",
      headers: { authorization: `Bearer ${token}`, "idempotency-key": key },
      body: JSON.stringify({ value }),
      signal: AbortSignal.timeout(10_000),
    }).then(
      async (response) => {
        await response.text();
        return response.status;
      },
      () => 0,
    );
    if (status === 201) return turn + 1;
    if (status !== 0 && status !== 503) throw new Error(`Cannot write ${path}: ${status}`);
    await sleep(20);
  }
}

/** Reads random secrets, and counts the values that were returned. */
async function readUntil(
  isOver: () => boolean,
  {
    vault,
    written,
    urlOf,
  }: { readonly vault: OpenedVault; readonly written: readonly Written[]; readonly urlOf: Nodes["urlOf"] },
): Promise<ReadonlyMap<string, number>> {
  const returned = new Map<string, number>();
  for (let turn = 0; !isOver(); turn += 1) {
    const { name, value } = written[(turn * 7919) % Math.max(written.length, 1)] ?? {};
    if (name === undefined) {
      await sleep(20);
      continue;
    }
    const path = `/api/secrets/vaults/${vault.person.vaultId}/values/by-path/${name}`;
    const text = await fetch(new URL(path, urlOf(turn)), {
      headers: { authorization: `Bearer ${vault.token.text}` },
      signal: AbortSignal.timeout(10_000),
    }).then(
      (response) => response.text(),
      () => "",
    );
    if (text.includes(`"value":"${value}"`)) returned.set(name, (returned.get(name) ?? 0) + 1);
  }
  return returned;
}

type Stored = {
  readonly name: string;
  readonly versions: number;
  readonly changes: number;
  readonly reads: number;
};

async function readStored({ database, person }: OpenedVault): Promise<readonly Stored[]> {
  return database.queryInAccount<Stored>(person.accountId, {
    text: "WITH recorded AS MATERIALIZED (SELECT coalesce(subject_id::text, body::jsonb ->> 'secret') AS secret, count(*) FILTER (WHERE subject_id IS NOT NULL)::int AS changes, count(*) FILTER (WHERE outcome = 'read')::int AS reads FROM audit_record WHERE account_id = entered.account::uuid AND stream_id = $2 GROUP BY 1), stored AS MATERIALIZED (SELECT secret_id, count(*)::int AS versions FROM secret_version WHERE account_id = entered.account::uuid AND vault_id = $2 GROUP BY 1) SELECT secret.name, stored.versions, recorded.changes, recorded.reads FROM live_secret AS secret LEFT JOIN stored ON stored.secret_id = secret.id LEFT JOIN recorded ON recorded.secret = secret.id::text WHERE secret.account_id = entered.account::uuid AND secret.vault_id = $2",
    values: [person.vaultId],
  });
}

/** What the killed nodes left without a leaf is adopted; then every record is in a log, and every leaf has its record. */
async function verifyAfterwards({ database, services }: OpenedVault) {
  const { serverKeys, nodeLog } = services;
  const forged: number[] = [];
  const everything = { since: 0, until: Number.MAX_SAFE_INTEGER };
  await nodeLog.append();
  const { length: adopted } = await listUnloggedRecords(database, everything);
  const onForged = (records: number) => void forged.push(records);
  await adoptRecords({ database, rowMacs: serverKeys.rowMacs, nodeLog, onForged, minAgeSeconds: -1 });
  expect(forged).toEqual([]);
  expect(await listUnloggedRecords(database, everything)).toEqual([]);
  const verified = await verifyLogs({ keys: describeKeys(serverKeys), trustedNotes: [] }, { database });
  expect(verified.findings).toEqual([]);
  return { ...verified, adopted };
}

test("killed nodes and a killed database lose no acknowledged write and no record, and record nothing that did not happen", {
  timeout: scale === "nightly" ? 7_200_000 : 400_000,
}, async () => {
  await using postgres = await startPostgres({ durable: true });
  await using created = await postgres.createDatabase();
  await using keep = await startUnlimitedKeep({ databaseUrl: created.url });
  await using vault = await openVault(keep);
  const { person, token } = vault;
  const nodes = await startNodes(postgres, created.url, keep.key);
  const written: Written[] = [];
  let next = 0;
  const isOver = (): boolean =>
    written.length >= writes && nodes.kills.nodes + nodes.kills.database >= minKills;
  const write = async (): Promise<void> => {
    while (!isOver()) {
      const name = `secret-${next}`;
      next += 1;
      const value = generateId();
      const path = `/api/secrets/vaults/${person.vaultId}/secrets/by-path/${name}`;
      const tries = await writeUntilAcknowledged(path, { token: token.text, value, urlOf: nodes.urlOf });
      written.push({ name, value, tries });
    }
  };
  const killAll = async (): Promise<void> => {
    while (!isOver()) {
      await sleep(killMilliseconds);
      await nodes.kill();
    }
  };
  const read = () => readUntil(isOver, { vault, written, urlOf: nodes.urlOf });
  const [, returned] = await Promise.all([
    killAll(),
    Promise.all(Array.from({ length: readers }, read)),
    ...Array.from({ length: writers }, write),
  ]);
  await nodes.stop();
  const stored = new Map((await readStored(vault)).map((row) => [row.name, row]));
  const wrong = written.filter(({ name }) => {
    const row = stored.get(name);
    const reads = returned.reduce((sum, counts) => sum + (counts.get(name) ?? 0), 0);
    return row?.versions !== 1 || row.changes !== 1 || row.reads < reads;
  });
  expect(wrong).toEqual([]);
  expect(stored.size).toBe(written.length);
  const { logs, records, adopted } = await verifyAfterwards(vault);
  const reads = returned.flatMap((counts) => [...counts.values()]).reduce((sum, each) => sum + each, 0);
  const repeated = written.filter(({ tries }) => tries > 1).length;
  const kills = `${nodes.kills.nodes} kills of nodes and ${nodes.kills.database} of the database`;
  recordFigure({
    claim: "keep 8",
    text: `${written.length} writes by ${writers} clients across ${kills} (${repeated} acknowledged only after a retry): each stored once, with one record`,
    counted: { reached: written.length, needed: writes },
  });
  recordFigure({
    claim: "seal 9",
    text: `${kills} during ${written.length} writes and ${reads} returned values: each has its record, no record of a change that did not happen; ${records} records in ${logs} logs verified, ${adopted} of them left without a leaf by killed nodes and adopted`,
    counted: { reached: nodes.kills.nodes + nodes.kills.database, needed: minKills },
  });
  expect(reads).toBeGreaterThan(0);
});
