import { fileURLToPath } from "node:url";
import { startProcess } from "@hearth-and-keep/test-servers";
import { Client } from "pg";
import { afterAll, beforeAll, expect, test } from "vitest";
import { asSuperuser } from "../../keys/test/tamper-fixtures.ts";
import {
  createOrganisation,
  idOf,
  read,
  succeed,
  type TestOrganisation,
} from "../../organisations/test/shared-vault.ts";
import type { Teammate } from "../../organisations/test/start-team.ts";
import { startUnlimitedKeep } from "../../test/open-vault.ts";
import type { TestKeep } from "../../test/start-test-keep.ts";
import { copiedColumns } from "./queries.ts";
import { addFilledVault, addVault, findFindings, readRows, transfer } from "./test/fixture.ts";

const program = fileURLToPath(new URL("../../../bin/keep.js", import.meta.url));

let keep: TestKeep;
/** On the same database. */
let other: TestKeep;
beforeAll(async () => {
  keep = await startUnlimitedKeep();
  other = await startUnlimitedKeep({ databaseUrl: keep.databaseUrl, key: keep.key });
});
afterAll(async () => {
  await other[Symbol.asyncDispose]();
  await keep[Symbol.asyncDispose]();
});

/** Calls back while the transfer waits for a table that it reaches when secrets and versions are copied already. */
async function interruptAt(table: string, send: () => Promise<unknown>, interrupt: (pid: number) => unknown) {
  await using cleanup = new AsyncDisposableStack();
  const blocker = cleanup.adopt(new Client(keep.databaseUrl), (client) => client.end());
  await blocker.connect();
  await blocker.query("BEGIN");
  await blocker.query(`LOCK TABLE ${table} IN ACCESS EXCLUSIVE MODE`);
  const sent = send();
  const findWaiting = async () => {
    const { rows } = await blocker.query<{ pid: number }>(
      "SELECT pid FROM pg_locks WHERE NOT granted AND relation = $1::regclass",
      [table],
    );
    return rows[0]?.pid;
  };
  await expect.poll(findWaiting, { timeout: 4000, interval: 20 }).toBeDefined();
  const pid = await findWaiting();
  if (pid === undefined) throw new Error("The transfer no longer waits");
  await interrupt(pid);
  await sent;
  await blocker.query("ROLLBACK");
}

async function expectInFirst(vault: string, before: Awaited<ReturnType<typeof readRows>>): Promise<void> {
  await expect.poll(() => readRows(keep, idOf(vault)), { timeout: 15_000, interval: 200 }).toEqual(before);
  expect(await findFindings(keep)).toEqual([]);
}

test.each(["folder", "operation"])(
  "a transfer whose connection is lost at %s has not happened, and can be repeated",
  async (table) => {
    const { owner, accountId } = await createOrganisation(keep);
    const vault = await addFilledVault(owner);
    const before = await readRows(keep, idOf(vault));
    await interruptAt(
      table,
      async () => expect((await transfer(owner, vault, accountId)).status).toBe(503),
      (pid) =>
        asSuperuser(keep.databaseUrl, (superuser) =>
          superuser.query("SELECT pg_terminate_backend($1)", [pid]),
        ),
    );
    await expectInFirst(vault, before);
    expect(await read(owner, vault, "/app/KEY")).toBe(200);
    expect((await transfer(owner, vault, accountId)).status).toBe(200);
    expect(await readRows(keep, idOf(vault))).toEqual({ ...before, accounts: [accountId] });
    expect(await findFindings(keep)).toEqual([]);
  },
);

test("a transfer whose node is killed has not happened, and another node can repeat it", async () => {
  const { owner, accountId } = await createOrganisation(keep);
  const vault = await addFilledVault(owner);
  const before = await readRows(keep, idOf(vault));
  const node = await startProcess({
    command: process.execPath,
    arguments: [program, "serve", "--port", "0", "--metrics-port", "0"],
    environment: {
      KEEP_LOG_LEVEL: "warn",
      KEEP_DATABASE_URL: keep.databaseUrl,
      KEEP_ENCRYPTION_KEY: keep.key,
    },
    isReady: (output) => output.includes("Keep is listening on"),
    readyWithinSeconds: 120,
  });
  const url = /Keep is listening on (?<url>\S+)/u.exec(node.output())?.groups?.["url"] ?? "";
  await interruptAt(
    "folder",
    () =>
      fetch(`${url}${vault}/transfer`, {
        method: "POST",
        headers: { ...owner.headers, "content-type": "application/json" },
        body: JSON.stringify({ to: accountId }),
      }).catch(() => undefined),
    async () => {
      process.kill(node.pid, "SIGKILL");
      await node.exited;
    },
  );
  await expectInFirst(vault, before);
  await expect.poll(async () => (await transfer(owner, vault, accountId)).status).toBe(200);
  expect(await readRows(keep, idOf(vault))).toEqual({ ...before, accounts: [accountId] });
  expect(await findFindings(keep)).toEqual([]);
});

test("every write during transfers is in the vault, or was refused", async () => {
  const { owner, accountId } = await createOrganisation(keep);
  const vault = await addVault(owner);
  const progress = { isDone: false };
  const written: string[] = [];
  const refused: string[] = [];
  const writeUntilDone = async (node: TestKeep, name: string): Promise<void> => {
    for (let number = 0; !progress.isDone; number += 1) {
      const path = `/${name}/${number}`;
      const { status } = await owner.on(node)("PUT", `${vault}/secrets/by-path${path}`, { value: path });
      (status === 201 ? written : refused).push(path);
      expect([201, 404, 503]).toContain(status);
    }
  };
  const writers = [keep, keep, other, other].map((node, index) => writeUntilDone(node, `writer-${index}`));
  for (const to of [accountId, owner.accountId, accountId, owner.accountId, accountId]) {
    const seen = written.length;
    await expect.poll(() => written.length).toBeGreaterThan(seen + 5);
    await expect.poll(async () => (await transfer(owner, vault, to)).status).toBe(200);
  }
  progress.isDone = true;
  await Promise.all(writers);
  const { values } = await readValues(owner, vault);
  expect(values.toSorted()).toEqual(written.toSorted());
  expect(values.filter((path) => refused.includes(path))).toEqual([]);
  expect(await findFindings(keep)).toEqual([]);
});

async function readValues(owner: Teammate, vault: string) {
  const { items } = await succeed<{ items: readonly { path: string; value: string }[] }>(
    owner,
    "GET",
    `${vault}/values?recursive=true`,
  );
  for (const { path, value } of items) expect(value).toBe(path);
  return { values: items.map(({ path }) => path) };
}

test("transfers in opposite directions at the same time all succeed", async () => {
  const { owner, accountId } = await createOrganisation(keep);
  const vaults = await Promise.all(Array.from({ length: 6 }, () => addFilledVault(owner)));
  const [here, there] = [vaults.slice(0, 3), vaults.slice(3)];
  for (const vault of there) expect((await transfer(owner, vault, accountId)).status).toBe(200);
  const statuses = await Promise.all([
    ...here.map((vault) => transfer(owner, vault, accountId)),
    ...there.map((vault) => transfer({ ...owner, send: owner.on(other) }, vault, owner.accountId)),
  ]);
  expect(statuses.map(({ status }) => status)).toEqual(vaults.map(() => 200));
  for (const vault of vaults) expect(await read(owner, vault, "/app/KEY")).toBe(200);
  expect(await findFindings(keep)).toEqual([]);
});

/** Runs statements as a superuser, without foreign keys. */
function tamper(...statements: readonly string[]): Promise<void> {
  return asSuperuser(keep.databaseUrl, async (superuser) => {
    await superuser.query("SET session_replication_role = replica");
    for (const statement of statements) await superuser.query(statement);
  });
}

const moveStatement = (table: string, vault: string, to: string): string =>
  `UPDATE ${table} SET account_id = '${to}' WHERE ${table === "vault" ? "id" : "vault_id"} = '${idOf(vault)}'`;

test("rows of a vault that are moved by SQL are reported, each table alone and all together", async () => {
  const { owner, accountId }: TestOrganisation = await createOrganisation(keep);
  const vault = await addFilledVault(owner);
  const tables = ["vault", "vault_key", "folder", "secret", "secret_version"];
  for (const moved of [...tables.map((table) => [table]), tables]) {
    await tamper(...moved.map((table) => moveStatement(table, vault, accountId)));
    expect([moved, await findFindings(keep)]).not.toEqual([moved, []]);
    await tamper(...moved.map((table) => moveStatement(table, vault, owner.accountId)));
    expect(await findFindings(keep)).toEqual([]);
  }
});

test("a vault that is put back into the first account after a transfer is reported", async () => {
  const { owner, accountId } = await createOrganisation(keep);
  const vault = await addFilledVault(owner);
  const tables = Object.keys(copiedColumns).filter((table) => table !== "operation");
  const where = (table: string) => `${table === "vault" ? "id" : "vault_id"} = '${idOf(vault)}'`;
  await tamper(
    ...tables.map((table) => `CREATE TABLE earlier_${table} AS SELECT * FROM ${table} WHERE ${where(table)}`),
  );
  expect((await transfer(owner, vault, accountId)).status).toBe(200);
  expect(await findFindings(keep)).toEqual([]);
  await tamper(...tables.map((table) => `INSERT INTO ${table} SELECT * FROM earlier_${table}`));
  expect(await findFindings(keep)).toContainEqual(
    expect.stringContaining(`vault ${idOf(vault)} was put back after it was transferred`),
  );
});
