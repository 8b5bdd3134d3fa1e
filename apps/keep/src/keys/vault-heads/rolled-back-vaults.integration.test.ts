import { recordFigure } from "@hearth-and-keep/figures";
import type { Client } from "pg";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type OpenedVault, openVault, startUnlimitedKeep } from "../../test/open-vault.ts";
import type { TestKeep } from "../../test/start-test-keep.ts";
import { asSuperuser } from "../test/tamper-fixtures.ts";

let keep: TestKeep;
/** On the same database; started after a change, it remembers nothing. */
let freshNode: () => Promise<TestKeep>;
let rejected = 0;

beforeAll(async () => {
  keep = await startUnlimitedKeep();
  const { databaseUrl, key } = keep;
  freshNode = () => startUnlimitedKeep({ databaseUrl, key });
});
afterAll(async () => {
  await keep?.[Symbol.asyncDispose]();
});

async function readStatus(vault: OpenedVault, path: string, node: TestKeep = keep): Promise<number> {
  const url = `/api/secrets/vaults/${vault.person.vaultId}/values/by-path${path}`;
  return (await node.request(url, { token: vault.token.text })).status;
}

async function expectRejected(vault: OpenedVault, path: string, nodes: readonly TestKeep[]): Promise<void> {
  for (const node of nodes) expect(await readStatus(vault, path, node)).toBe(500);
  rejected += 1;
}

const earlier = ["secret", "secret_version", "vault", "vault_key"] as const;

/** Copies the vault's rows, and returns a function that puts some tables back. */
async function copyRows(superuser: Client, { person: { vaultId } }: OpenedVault) {
  const condition = (table: string): string => `${table === "vault" ? "id" : "vault_id"} = '${vaultId}'`;
  for (const table of earlier)
    await superuser.query(
      `CREATE TEMP TABLE copied_${table} AS SELECT * FROM ${table} WHERE ${condition(table)}`,
    );
  return async (...tables: readonly (typeof earlier)[number][]): Promise<void> => {
    await superuser.query("SET session_replication_role = replica");
    for (const table of tables) {
      await superuser.query(`DELETE FROM ${table} WHERE ${condition(table)}`);
      await superuser.query(`INSERT INTO ${table} SELECT * FROM copied_${table}`);
    }
  };
}

test("a secret put back is rejected also if the audit log no longer names its newer revision", async () => {
  const vault = await openVault(keep);
  await vault.write("/KEY", "old");
  await asSuperuser(keep.databaseUrl, async (superuser) => {
    const putBack = await copyRows(superuser, vault);
    await vault.write("/KEY", "new");
    expect(await readStatus(vault, "/KEY")).toBe(200);
    await putBack("secret", "secret_version");
    await superuser.query("UPDATE audit_record SET subject_id = NULL, revision = NULL WHERE stream_id = $1", [
      vault.person.vaultId,
    ]);
  });
  await using fresh = await freshNode();
  await expectRejected(vault, "/KEY", [keep, fresh]);
});

test("a vault put back as a whole is rejected by a node that has used it since", async () => {
  const vault = await openVault(keep);
  await vault.write("/KEY", "old");
  await asSuperuser(keep.databaseUrl, async (superuser) => {
    const putBack = await copyRows(superuser, vault);
    await vault.write("/KEY", "new");
    await putBack(...earlier);
  });
  await expectRejected(vault, "/KEY", [keep]);
  const [status, { code }] = await vault.json("PUT", "/secrets/by-path/KEY", { value: "newest" });
  expect([status, code]).toEqual([500, "integrity_error"]);
});

test("a secret added or removed by SQL makes a node that has not used the vault reject it", async () => {
  const changes = [
    "DELETE FROM secret WHERE name = 'OTHER' AND vault_id = $1",
    "INSERT INTO secret (account_id, vault_id, id, folder, name, type, current_version, revision, key_version, mark, updated_by) SELECT account_id, vault_id, gen_random_uuid(), folder, 'COPY', type, current_version, revision, key_version, mark, updated_by FROM secret WHERE name = 'OTHER' AND vault_id = $1",
  ];
  for (const change of changes) {
    const vault = await openVault(keep);
    await vault.write("/KEY", "value");
    await vault.write("/OTHER", "value");
    await asSuperuser(keep.databaseUrl, async (superuser) => {
      await superuser.query("SET session_replication_role = replica");
      await superuser.query(change, [vault.person.vaultId]);
    });
    // The value itself is the last one stored.
    expect(await readStatus(vault, "/KEY")).toBe(200);
    await using fresh = await freshNode();
    await expectRejected(vault, "/KEY", [fresh]);
  }
});

test("settings, state or account of a vault changed by SQL are rejected", async () => {
  const changes = [
    "demands_preconditions = true",
    "most_versions = 10000",
    "prunes_versions = NOT prunes_versions",
    "environments = ARRAY['prod']",
    "base_folder = '/base'",
    "protected_paths = ARRAY['/prod/**']",
    "decided_changes = 1",
    "name = 'Renamed'",
    "revision = revision + 1",
    "head = NULL",
    "head = set_bit(head, 9, 1 - get_bit(head, 9))",
    "head = (SELECT head FROM vault AS other WHERE other.id <> vault.id LIMIT 1)",
  ];
  for (const change of changes) {
    const vault = await openVault(keep);
    await vault.write("/KEY", "value");
    await asSuperuser(keep.databaseUrl, (superuser) =>
      superuser.query(`UPDATE vault SET ${change} WHERE id = $1`, [vault.person.vaultId]),
    );
    await using fresh = await freshNode();
    await expectRejected(vault, "/KEY", [fresh]);
    const [status, { code }] = await vault.json("PUT", "/secrets/by-path/KEY", { value: "newer" });
    expect([change, status, code]).toEqual([change, 500, "integrity_error"]);
  }
});

test("a deleted vault that is made live by SQL is rejected", async () => {
  const vault = await openVault(keep);
  const [, { id: vaultId }] = await vault.json("POST", "/api/secrets/vaults", { name: "Deleted" });
  const base = `/api/secrets/vaults/${vaultId}`;
  await vault.json("PUT", `${base}/secrets/by-path/KEY`, { value: "value" });
  expect((await vault.json("DELETE", base))[0]).toBe(204);
  await asSuperuser(keep.databaseUrl, (superuser) =>
    superuser.query("UPDATE vault SET deleted_at = NULL, purge_after = NULL WHERE id = $1", [vaultId]),
  );
  await using fresh = await freshNode();
  for (const node of [keep, fresh]) {
    const response = await node.request(`${base}/values/by-path/KEY`, { token: vault.token.text });
    expect(response.status).toBe(500);
  }
  rejected += 1;
});

test("two nodes that change and read one vault at once never take a change for a rollback", async () => {
  await using other = await freshNode();
  const vault = await openVault(keep);
  const path = `/api/secrets/vaults/${vault.person.vaultId}`;
  await vault.write("/SAME", "0");
  const statuses = new Map<number, number>();
  const send = async (node: TestKeep, address: string, body?: object): Promise<void> => {
    const method = body === undefined ? "GET" : "PUT";
    const options = { method, token: vault.token.text, ...(body === undefined ? {} : { body }) };
    const { status } = await node.request(path + address, options);
    statuses.set(status, (statuses.get(status) ?? 0) + 1);
  };
  const rounds = Array.from({ length: 60 }, (_, round) => round);
  const work = [keep, other].flatMap((node, index) => [
    async () => {
      for (const round of rounds)
        await send(node, `/secrets/by-path/${index === 0 ? "SAME" : `N${round}`}`, { value: `${round}` });
    },
    async () => {
      for (const round of rounds) await send(node, round === 0 ? "/values" : "/values/by-path/SAME");
    },
    async () => {
      for (const round of rounds) await send(node, `/values?recursive=${round % 2 === 0}`);
    },
  ]);
  await Promise.all(work.map((each) => each()));
  expect(new Set(statuses.keys())).toEqual(new Set([200, 201]));
  recordFigure({
    claim: "keep 6",
    text: `${rejected} of 12 ways to put back, add, remove or change rows of a vault were rejected; ${rounds.length * 6} requests to two nodes that changed one vault succeeded`,
    counted: { reached: rejected, needed: 12 },
  });
});
