import { setTimeout as sleep } from "node:timers/promises";
import { chooseSize, recordFigure, scale } from "@hearth-and-keep/figures";
import { expect, test } from "vitest";
import { generateId } from "../generate-id.ts";
import { openVault } from "../test/open-vault.ts";
import { type ServingNode, startServingNode } from "../test/serving-node.ts";

const writes = chooseSize({ ci: 1200, show: 5000, nightly: 100_000 });
const clients = 8;
const killSeconds = 5;
const minKills = chooseSize({ ci: 2, show: 3, nightly: 200 });

type Written = { readonly name: string; readonly value: string; readonly tries: number };

/** Two nodes, at least one of them alive at any time; a killed node is restarted. */
async function startNodes(databaseUrl: string, key: string) {
  const environment = { KEEP_WRITES_PER_MINUTE: "10000000" };
  const start = (): Promise<ServingNode> => startServingNode(databaseUrl, key, environment);
  const nodes = await Promise.all([start(), start()]);
  let kills = 0;
  return {
    urlOf: (turn: number): string => nodes[turn % nodes.length]?.url ?? "",
    kills: () => kills,
    async killOne(): Promise<void> {
      const index = kills % nodes.length;
      const victim = nodes[index];
      if (victim === undefined) throw new Error("No such node");
      process.kill(victim.pid, "SIGKILL");
      await victim.exited;
      kills += 1;
      nodes[index] = await start();
    },
    stop: () => Promise.all(nodes.map((node) => node.stop())),
  };
}

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

test("every acknowledged write survives killed nodes exactly once, with one audit record", {
  timeout: scale === "nightly" ? 3_600_000 : 400_000,
}, async () => {
  await using keep = await openVault();
  const { person, token } = keep;
  const nodes = await startNodes(keep.databaseUrl, keep.key);
  const written: Written[] = [];
  let next = 0;
  const isOver = (): boolean => written.length >= writes && nodes.kills() >= minKills;
  const client = async (): Promise<void> => {
    while (!isOver()) {
      const name = `secret-${next}`;
      next += 1;
      const value = generateId();
      const path = `/api/secrets/vaults/${person.vaultId}/secrets/by-path/${name}`;
      const tries = await writeUntilAcknowledged(path, { token: token.text, value, urlOf: nodes.urlOf });
      written.push({ name, value, tries });
    }
  };
  const killer = async (): Promise<void> => {
    while (!isOver()) {
      await sleep(killSeconds * 1000);
      await nodes.killOne();
    }
  };
  await Promise.all([killer(), ...Array.from({ length: clients }, client)]);
  await nodes.stop();
  const rows = await keep.database.queryInAccount<{ name: string; versions: number; records: number }>(
    person.accountId,
    {
      text: "SELECT secret.name, (SELECT count(*)::int FROM secret_version AS version WHERE version.account_id = secret.account_id AND version.vault_id = secret.vault_id AND version.secret_id = secret.id) AS versions, (SELECT count(*)::int FROM audit_event AS event WHERE event.account_id = secret.account_id AND event.chain_id = secret.vault_id AND event.subject_id = secret.id) AS records FROM live_secret AS secret WHERE secret.account_id = entered.account::uuid",
    },
  );
  const stored = new Map(rows.map((row) => [row.name, row]));
  const wrong = written.filter(({ name }) => {
    const row = stored.get(name);
    return row?.versions !== 1 || row.records !== 1;
  });
  expect(wrong).toEqual([]);
  expect(stored.size).toBe(written.length);
  const sample = written.filter((_, index) => index % 50 === 0);
  for (const { name, value } of sample) {
    expect((await keep.json("GET", `/values/by-path/${name}`))[1]).toMatchObject({ value, version: 1 });
  }
  const repeated = written.filter(({ tries }) => tries > 1).length;
  recordFigure({
    claim: "keep 8",
    text: `${written.length} writes by ${clients} clients across ${nodes.kills()} kills (${repeated} acknowledged only after a retry): each stored once, with one record`,
    counted: { reached: written.length, needed: writes },
  });
});
