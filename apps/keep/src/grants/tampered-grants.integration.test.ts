import { Hidden } from "@hearth-and-keep/logging";
import { Client } from "pg";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { verifyDatabase } from "../commands/verify-audit.ts";
import { generateId } from "../generate-id.ts";
import { readKeys } from "../keys/key-encryption-key.ts";
import {
  addMemberToken,
  addTeam,
  createOrganisation,
  createVault,
  idOf,
  personHolder,
  share,
  statusOf,
  statusWith,
  type TestOrganisation,
  valueOf,
} from "../organisations/test/shared-vault.ts";
import { join, type Teammate } from "../organisations/test/start-team.ts";
import { copyRows, type RowSelector } from "../test/copy-rows.ts";
import { startUnlimitedKeep } from "../test/open-vault.ts";
import type { TestKeep } from "../test/start-test-keep.ts";

let keep: TestKeep;
let superuser: Client;
let acme: TestOrganisation;
let globex: TestOrganisation;
/** Reads the attacked vault at one path, manages another vault, and owns another organisation. */
let attacker: Teammate;
/** Manages the attacked vault by a team. */
let victim: Teammate;
let team: Awaited<ReturnType<typeof addTeam>>;
let vault: string;
let attackersVault: string;
let foreignVault: string;
let attackersToken: { readonly id: string; readonly value: string };

beforeAll(async () => {
  keep = await startUnlimitedKeep();
  superuser = new Client(keep.databaseUrl);
  await superuser.connect();
  acme = await createOrganisation(keep);
  globex = await createOrganisation(keep);
  attacker = globex.owner;
  victim = await acme.add();
  await join(acme.owner, acme.organisation, [attacker, "member"]);
  await join(attacker, globex.organisation, [victim, "member"]);
  vault = await createVault(victim, acme.organisation, ["/public/KEY", "/prod/KEY"]);
  attackersVault = await createVault(attacker, acme.organisation, ["/prod/KEY"]);
  foreignVault = await createVault(attacker, globex.organisation, ["/prod/KEY"]);
  team = await addTeam(acme.owner, acme.organisation, [victim]);
  await share(victim, vault, { holder: { type: "team", id: team.id }, role: "manager" });
  await share(victim, vault, { holder: personHolder(attacker), role: "reader", paths: ["/public/*"] });
  attackersToken = await addMemberToken(attacker, acme.organisation, {
    scopes: ["secrets:read", "secrets:write"],
  });
});
afterAll(async () => {
  await superuser.end();
  await keep[Symbol.asyncDispose]();
});

/** A node that has kept nothing in memory. */
const startFreshNode = () => startUnlimitedKeep({ databaseUrl: keep.databaseUrl, key: keep.key });

type Opened = readonly [what: string, status: number];

/** What the attacker may not do that succeeded, on each node. */
async function findOpened(nodes: readonly TestKeep[], target = vault): Promise<readonly Opened[]> {
  const attempts: readonly (readonly [method: string, path: string, body?: object])[] = [
    ["GET", valueOf(target, "/prod/KEY")],
    ["GET", `${target}/values?path=/prod`],
    ["PUT", `${target}/secrets/by-path/prod/NEW`, { value: "x" }],
    ["GET", `${target}/audit`],
    ["PATCH", target, { name: "Opened" }],
  ];
  const opened: Opened[] = [];
  for (const node of nodes)
    for (const attempt of attempts) {
      const [method, path] = attempt;
      const name = `${method} ${path}`;
      const { status } = await attacker.on(node)(...attempt);
      if (status < 400) opened.push([name, status]);
      const withToken = await statusWith(node, attackersToken.value, ...attempt);
      if (withToken < 400) opened.push([`${name} with a token`, withToken]);
    }
  return opened;
}

const allowedReads = {
  "attacker at their path": 200,
  "attacker in their vault": 200,
  victim: 200,
  "attacker's token": 200,
};
const genuineAccess = [allowedReads, allowedReads];

/** What the attacker and others may do, on each node, of which one has to read it all. */
async function readAccess(): Promise<readonly Readonly<Record<keyof typeof allowedReads, number>>[]> {
  await using fresh = await startFreshNode();
  const ofNodes: Record<keyof typeof allowedReads, number>[] = [];
  for (const node of [keep, fresh]) {
    const read = async (by: Teammate, path: string) => (await by.on(node)("GET", path)).status;
    const open = valueOf(vault, "/public/KEY");
    ofNodes.push({
      "attacker at their path": await read(attacker, open),
      "attacker in their vault": await read(attacker, valueOf(attackersVault, "/prod/KEY")),
      victim: await read(victim, valueOf(vault, "/prod/KEY")),
      "attacker's token": await statusWith(node, attackersToken.value, "GET", open),
    });
  }
  return ofNodes;
}

async function findTampered(): Promise<readonly string[]> {
  const lines: string[] = [];
  const wrapper = readKeys(new Hidden(keep.key));
  await keep.services.nodeLog.append();
  await verifyDatabase({}, { database: keep.database, wrapper, print: (line) => lines.push(line) });
  return lines;
}

const selectors = (): readonly RowSelector[] => [
  { table: "vault_access", column: "vault_id", value: idOf(vault) },
  { table: "vault_access", column: "vault_id", value: idOf(attackersVault) },
  { table: "vault_route", column: "vault_id", value: idOf(vault) },
  { table: "member", column: "person_id", value: attacker.accountId },
  { table: "api_token", column: "id", value: attackersToken.id },
  { table: "team", column: "account_id", value: acme.accountId },
];

const copyAccess = () => copyRows(superuser, selectors().slice(0, 1));
const copyMember = () => copyRows(superuser, selectors().slice(3, 4));

type Effect = {
  /** On each node. */
  readonly opened: readonly Opened[];
  readonly found: readonly string[];
  /** Once the attacked rows are put back. */
  readonly foundAfterwards: readonly string[];
};

/** Undoes the attack; once the nodes have forgotten what they read meanwhile, access is as before. */
async function tryAttack(attack: () => Promise<unknown>): Promise<Effect> {
  const genuine = await copyRows(superuser, selectors());
  await attack();
  await using fresh = await startFreshNode();
  const opened = await findOpened([keep, fresh]);
  const found = await findTampered();
  await genuine.putBack();
  await expect.poll(readAccess).toEqual(genuineAccess);
  return { opened, found, foundAfterwards: await findTampered() };
}

/** The attack opens nothing on any node and is named by the verification; without it, nothing is named. */
const harmless = (finding: string) => ({
  opened: [],
  found: expect.arrayContaining([expect.stringContaining(finding)]),
  foundAfterwards: expect.arrayContaining(["No changes detected"]),
});

const accessOf = (path: string): string => `vault_access of vault ${idOf(path)} is not genuine`;
const updateAccess = (assignment: string, values: readonly unknown[] = []) =>
  superuser.query(`UPDATE vault_access SET ${assignment} WHERE vault_id = $1`, [idOf(vault), ...values]);

test("before any attack, the attacker may read at one path, and nothing else", async () => {
  expect(await readAccess()).toEqual(genuineAccess);
  expect(await findOpened([keep])).toEqual([]);
  expect(await findTampered()).toContain("No changes detected");
});

describe("changed grants open nothing, and are named", () => {
  test.each([
    ["a higher role", `grants = replace(grants, '"role":"reader"', '"role":"manager"')`],
    ["wider paths", `grants = replace(grants, '["/public/*"]', '["/**"]')`],
    ["no paths", `grants = replace(grants, '["/public/*"]', 'null')`],
    ["another space in the text", `grants = grants || ' '`],
    ["no MAC", "mac = NULL"],
    ["a MAC cut short", "mac = substr(mac, 1, 16)"],
    ["another account", "account_id = (SELECT account_id FROM account WHERE kind = 'person' LIMIT 1)"],
  ])("%s", async (_change, assignment) => {
    // The last one is found as a row that was removed.
    const finding = assignment.startsWith("account_id")
      ? `of vault ${idOf(vault)} was removed`
      : accessOf(vault);
    expect(await tryAttack(() => updateAccess(assignment))).toEqual(harmless(finding));
  });

  test("the team's grant given to the attacker", async () => {
    const holder = `replace(grants, '"type":"team","id":"${team.id}"', '"type":"person","id":"${attacker.accountId}"')`;
    expect(await tryAttack(() => updateAccess(`grants = ${holder}`))).toEqual(harmless(accessOf(vault)));
  });

  test("the row of a vault that the attacker manages, in this organisation or another one", async () => {
    for (const source of [attackersVault, foreignVault]) {
      const copy = `(grants, mac) = (SELECT grants, mac FROM vault_access WHERE vault_id = $2)`;
      expect(await tryAttack(() => updateAccess(copy, [idOf(source)]))).toEqual(harmless(accessOf(vault)));
    }
  });

  test("the attacked vault's row in place of the attacker's vault's", async () => {
    const swap = async () => {
      await superuser.query("DELETE FROM vault_access WHERE vault_id = $1", [idOf(vault)]);
      await superuser.query("UPDATE vault_access SET vault_id = $2 WHERE vault_id = $1", [
        idOf(attackersVault),
        idOf(vault),
      ]);
    };
    expect(await tryAttack(swap)).toEqual(harmless(accessOf(vault)));
  });

  test("a row for a vault that has none", async () => {
    const { text } = await keep.addToken(acme, { scopes: ["vaults:write", "secrets:write"] });
    const created = await keep.request("/api/secrets/vaults", {
      method: "POST",
      token: text,
      body: { name: "Unshared" },
    });
    // The response schema.
    const { id } = (await created.json()) as { readonly id: string };
    const unshared = `/api/secrets/vaults/${id}`;
    await statusWith(keep, text, "PUT", `${unshared}/secrets/by-path/prod/KEY`, { value: "x" });
    const genuine = await copyRows(superuser, [{ table: "vault_access", column: "vault_id", value: id }]);
    await superuser.query(
      "INSERT INTO vault_access (vault_id, account_id, grants, mac) SELECT $2, account_id, grants, mac FROM vault_access WHERE vault_id = $1",
      [idOf(attackersVault), id],
    );
    await using fresh = await startFreshNode();
    expect(await findOpened([keep, fresh], unshared)).toEqual([]);
    expect(await findTampered()).toContainEqual(expect.stringContaining(accessOf(unshared)));
    await genuine.putBack();
    expect(await readAccess()).toEqual(genuineAccess);
    await share(acme.owner, unshared, { holder: personHolder(attacker), role: "reader" });
    expect(await statusOf(attacker, "GET", valueOf(unshared, "/prod/KEY"))).toBe(200);
  });
});

describe("rows put back after a right was taken away open nothing, and are named", () => {
  test("the grants from before a removal", async () => {
    const grant = await share(victim, vault, { holder: personHolder(attacker), role: "manager" });
    expect((await findOpened([keep])).length).toBeGreaterThan(0);
    const earlier = await copyAccess();
    expect(await statusOf(victim, "DELETE", grant)).toBe(204);
    await expect.poll(() => findOpened([keep])).toEqual([]);
    expect(await tryAttack(() => earlier.putBack())).toEqual(harmless(accessOf(vault)));
  });

  test("the grants from before another person's removal, and from before the team was deleted", async () => {
    const other = await acme.add();
    const otherTeam = await addTeam(acme.owner, acme.organisation, [attacker]);
    await share(victim, vault, { holder: personHolder(other), role: "manager" });
    await share(victim, vault, { holder: { type: "team", id: otherTeam.id }, role: "manager" });
    const [earlierAccess, earlierMember] = [await copyAccess(), await copyMember()];
    expect(await statusOf(acme.owner, "DELETE", otherTeam.path)).toBe(204);
    await expect.poll(() => findOpened([keep])).toEqual([]);
    expect(await tryAttack(() => earlierAccess.putBack())).toEqual(harmless(accessOf(vault)));
    const member = `member ${attacker.accountId} of ${acme.accountId} is not genuine`;
    const both = () => Promise.all([earlierAccess.putBack(), earlierMember.putBack()]);
    expect(await tryAttack(both)).toEqual(harmless(member));
  });

  test("the team of a member who left it", async () => {
    const path = `${team.path}/members/${attacker.accountId}`;
    expect(await statusOf(acme.owner, "PUT", path)).toBe(204);
    expect((await findOpened([keep])).length).toBeGreaterThan(0);
    const earlier = await copyMember();
    expect(await statusOf(acme.owner, "DELETE", path)).toBe(204);
    await expect.poll(() => findOpened([keep])).toEqual([]);
    const finding = `member ${attacker.accountId} of ${acme.accountId} is not genuine`;
    expect(await tryAttack(() => earlier.putBack())).toEqual(harmless(finding));
  });
});

describe("changed routes, members and tokens open nothing, and are named", () => {
  test("a vault's route to the attacker's own organisation", async () => {
    const move = () =>
      superuser.query("UPDATE vault_route SET account_id = $2 WHERE vault_id = $1", [
        idOf(vault),
        globex.accountId,
      ]);
    expect(await tryAttack(move)).toEqual(harmless(`vault ${idOf(vault)}: its route was changed or removed`));
  });

  test("a vault's route together with a copy of its grants in the attacker's own organisation", async () => {
    const move = async () => {
      await superuser.query("UPDATE vault_route SET account_id = $2 WHERE vault_id = $1", [
        idOf(vault),
        globex.accountId,
      ]);
      await superuser.query(
        "INSERT INTO vault_access (vault_id, account_id, grants, mac) SELECT $2, account_id, grants, mac FROM vault_access WHERE vault_id = $1",
        [idOf(foreignVault), idOf(vault)],
      );
    };
    const finding = `vault_route of vault ${idOf(vault)} leads to no vault of ${globex.accountId}`;
    expect(await tryAttack(move)).toEqual(harmless(finding));
  });

  test.each([
    ["the managing team", () => [team.id]],
    ["the managing team and others", () => [generateId(), team.id]],
  ])("a member's row with %s", async (_teams, teamIds) => {
    const enlist = () =>
      superuser.query("UPDATE member SET team_ids = $3 WHERE account_id = $1 AND person_id = $2", [
        acme.accountId,
        attacker.accountId,
        teamIds(),
      ]);
    expect(await tryAttack(enlist)).toEqual(
      harmless(`member ${attacker.accountId} of ${acme.accountId} is not genuine`),
    );
  });

  test.each([
    ["of another member", () => victim.accountId],
    ["of an owner", () => acme.owner.accountId],
    ["of the organisation", () => null],
    ["of a person who is no member", () => generateId()],
  ])("a token made one %s", async (_owner, ownerId) => {
    const change = () =>
      superuser.query("UPDATE api_token SET owner_id = $2 WHERE id = $1", [attackersToken.id, ownerId()]);
    expect(await tryAttack(change)).toEqual(harmless(`api_token ${attackersToken.id} is not genuine`));
  });

  test("an owner's token on which the attacker's name was put, and one of the organisation", async () => {
    const ownersToken = await addMemberToken(acme.owner, acme.organisation, { scopes: ["vaults:write"] });
    const scope = { scopes: ["secrets:read"], vault_ids: [idOf(vault)] } as const;
    const shared = await addMemberToken(victim, acme.organisation, { for: "organisation", ...scope });
    await using fresh = await startFreshNode();
    const use = (value: string) => statusWith(fresh, value, "GET", vault);
    expect([await use(ownersToken.value), await use(shared.value)]).toEqual([200, 200]);
    for (const { id, value } of [ownersToken, shared]) {
      const genuine = await copyRows(superuser, [{ table: "api_token", column: "id", value: id }]);
      await superuser.query("UPDATE api_token SET owner_id = $2 WHERE id = $1", [id, attacker.accountId]);
      await using later = await startFreshNode();
      expect(await statusWith(later, value, "GET", vault)).toBe(401);
      expect(await findTampered()).toContainEqual(`api_token ${id} is not genuine`);
      await genuine.putBack();
    }
    await using last = await startFreshNode();
    for (const { value } of [ownersToken, shared])
      expect(await statusWith(last, value, "GET", vault)).toBe(200);
  });
});

describe("removed rows open nothing, and are named", () => {
  test.each([
    [
      "grants of a vault",
      "DELETE FROM vault_access WHERE vault_id = $1",
      () => `of vault ${idOf(vault)} was removed`,
    ],
    [
      "route of a vault",
      "DELETE FROM vault_route WHERE vault_id = $1",
      () => `vault ${idOf(vault)}: its route was changed or removed`,
    ],
    ["team", "DELETE FROM team WHERE id <> $1", () => `team ${team.id}`],
  ])("%s", async (_row, text, finding) => {
    const teams = await copyRows(superuser, [{ table: "team", column: "account_id", value: acme.accountId }]);
    const attack = () => superuser.query(text, [idOf(vault)]);
    try {
      expect(await tryAttack(attack)).toEqual(harmless(finding()));
    } finally {
      await teams.putBack();
    }
  });
});

test("a trigger in the database does not keep grants or teams that Keep takes away", async () => {
  const member = `${team.path}/members/${attacker.accountId}`;
  expect(await statusOf(acme.owner, "PUT", member)).toBe(204);
  const grant = await share(victim, vault, { holder: personHolder(attacker), role: "manager" });
  expect((await findOpened([keep])).length).toBeGreaterThan(0);
  await superuser.query(
    "CREATE FUNCTION attack() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RETURN NULL; END $$",
  );
  for (const table of ["vault_access", "member"])
    await superuser.query(
      `CREATE TRIGGER attack BEFORE UPDATE OF ${table === "member" ? "team_ids" : "grants"} ON ${table} FOR EACH ROW EXECUTE FUNCTION attack()`,
    );
  try {
    expect(await statusOf(victim, "DELETE", grant)).toBe(204);
    expect(await findOpened([keep])).toEqual([]);
    expect(await statusOf(acme.owner, "DELETE", member)).toBe(404);
  } finally {
    await superuser.query("DROP FUNCTION attack CASCADE");
  }
  await using fresh = await startFreshNode();
  expect(await findOpened([keep, fresh])).toEqual([]);
  const found = await findTampered();
  expect(found).toContainEqual(expect.stringContaining(accessOf(vault)));
});
