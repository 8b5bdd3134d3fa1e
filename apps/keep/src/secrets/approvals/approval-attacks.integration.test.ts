import { recordFigure } from "@hearth-and-keep/figures";
import type { Change } from "@hearth-and-keep/vault-contract";
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from "vitest";
import { deleteAccount } from "../../accounts/delete-account.ts";
import { suspendAccount } from "../../accounts/suspend-account.ts";
import type { Grant } from "../../authorization/grant.ts";
import { fullGrant } from "../../authorization/grant.ts";
import { expandScopes, type Scope, scopes } from "../../authorization/scopes.ts";
import type { Database } from "../../database/open-database.ts";
import { generateId } from "../../generate-id.ts";
import { asSuperuser } from "../../keys/test/tamper-fixtures.ts";
import { changeRole, removeMember } from "../../organisations/change-members.ts";
import { copyRows } from "../../test/copy-rows.ts";
import { everyScope, startUnlimitedKeep } from "../../test/open-vault.ts";
import type { TestKeep } from "../../test/start-test-keep.ts";
import { rotateToken } from "../../tokens/rotate-token.ts";
import { findTrustRule, updateTrustRule } from "../../workload/queries.ts";
import { approveChange } from "./decide-change.ts";
import { proposeChange } from "./propose-change.ts";
import {
  approve,
  expectOk,
  reject,
  startTeam,
  type Team,
  vaultIdOf,
  withdraw,
  writeAll,
} from "./test/fixture.ts";

let keep: TestKeep;
let team: Team;
let vault: string;
let attacks = 0;
beforeAll(async () => {
  keep = await startUnlimitedKeep();
});
beforeEach(async () => {
  team = await startTeam(keep);
  vault = await team.createVault();
  await writeAll(team, vault, { "/prod/KEY": "first", "/prod/OTHER": "other" });
  await expectOk(team.send("PATCH", vault, { protected_paths: ["/prod/**"] }));
});
afterEach(() => {
  attacks += 1;
});
afterAll(async () => {
  recordFigure({
    claim: "teams 8",
    text: `${attacks} groups of attacks on approvals changed nothing, and their twins were applied once`,
    counted: { reached: attacks, needed: 15 },
  });
  await keep[Symbol.asyncDispose]();
});

const body = {
  reason: "Rotate",
  operations: [{ op: "put", path: "/prod/KEY", value: "second" }],
};

function propose(token?: string, proposal: object = body): Promise<Change> {
  return expectOk(team.send("POST", `${vault}/changes`, proposal, token));
}

/** The failure with which the approval is refused, or "approved". */
async function tryApproval(
  change: Pick<Change, "id" | "fingerprint">,
  { person = team.people[1], grant = fullGrant, in: url = vault }: Partial<Attempt> = {},
): Promise<string> {
  const actor = team.actor(person, grant);
  try {
    await approve(team, { actor, vault: url, change: change.id }, change.fingerprint);
    return "approved";
  } catch (error) {
    return failureOf(error);
  }
}

type Attempt = { readonly person: string; readonly grant: Grant; readonly in: string };

function failureOf(error: unknown): string {
  // Thrown by use cases.
  const { kind } = (error as { readonly failure: { readonly kind: string } }).failure;
  return kind;
}

type State = { readonly value: string; readonly version: number };

async function readState(path = "/prod/KEY"): Promise<State> {
  const { value, version } = await expectOk(team.send("GET", `${vault}/values/by-path${path}`));
  return { value, version };
}

const before = { value: "first", version: 1 };
const after = { value: "second", version: 2 };

async function expectTwin(change: Pick<Change, "id" | "fingerprint">): Promise<void> {
  expect(await readState()).toEqual(before);
  expect(await tryApproval(change)).toBe("approved");
  expect(await readState()).toEqual(after);
}

test("nobody approves their own change, with another session or a token, or as who created the token", async () => {
  const [first, second] = team.people;
  const change = await propose();
  expect(await tryApproval(change, { person: first })).toBe("second-person-required");
  // No token approves, whoever it belongs to.
  const { fingerprint } = change;
  const tokens = [team.token, await team.addToken({ scopes: everyScope }, `person:${second}`)];
  for (const { text } of tokens) {
    const { status } = await team.send(
      "POST",
      `${vault}/changes/${change.id}/approve`,
      { fingerprint },
      text,
    );
    expect(status).toBe(403);
  }
  const asToken = { ...team.actor(second), kind: "token" } as const;
  await expect(
    approve(team, { actor: asToken, vault, change: change.id }, fingerprint),
  ).rejects.toMatchObject({
    failure: { kind: "second-person-required" },
  });
  const { personId: _person, ...nobody } = team.actor(second);
  await expect(approve(team, { actor: nobody, vault, change: change.id }, fingerprint)).rejects.toMatchObject(
    {
      failure: { kind: "not-found" },
    },
  );
  await expectTwin(change);
});

test("a person who proposed with a session cannot approve with another session of theirs", async () => {
  const [first] = team.people;
  const operations = [{ op: "put", path: "/prod/KEY", value: "second" }] as const;
  const { result: id } = await proposeChange(
    { actor: team.actor(first), vaultId: vaultIdOf(vault), idempotencyKey: undefined, reason: "Mine" },
    { operations, settings: {}, vaultAction: null },
    team.decisions,
  );
  const change = await expectOk(team.send("GET", `${vault}/changes/${id}`));
  expect(change.proposed_by).toBe(`person:${first}`);
  expect(await tryApproval(change, { person: first })).toBe("second-person-required");
  await expectTwin(change);
});

test("a token made with a token, by its owner or by a trust rule leads to the person behind it", async () => {
  const [first, second] = team.people;
  const child = await team.addToken({ scopes: everyScope }, `token:${team.token.id}`);
  const ofChild = await propose(child.text);
  expect(await tryApproval(ofChild, { person: first })).toBe("second-person-required");
  const rule = await addTrustRule();
  const issued = await team.addToken({ scopes: everyScope }, `trust-rule:${rule}`);
  expect(await tryApproval(await propose(issued.text), { person: first })).toBe("second-person-required");
  // A token that belongs to the second person, created by the first one: neither approves.
  const owned = { ...team.actor(second), kind: "token", id: team.token.id } as const;
  const { result: id } = await proposeChange(
    { actor: owned, vaultId: vaultIdOf(vault), idempotencyKey: undefined, reason: "Owned" },
    { operations: [{ op: "delete", path: "/prod/OTHER" }], settings: {}, vaultAction: null },
    team.decisions,
  );
  const ofOwner = await expectOk(team.send("GET", `${vault}/changes/${id}`));
  for (const person of [first, second])
    expect(await tryApproval(ofOwner, { person })).toBe("second-person-required");
  // Nobody is known to be behind this one.
  const orphan = await team.addToken({ scopes: everyScope }, "test");
  expect((await team.send("POST", `${vault}/changes`, body, orphan.text)).status).toBe(409);
  await expectTwin(ofChild);
});

test("whoever has rotated a token or changed a trust rule does not approve what was proposed with it", async () => {
  const [first, second] = team.people;
  const third = (await keep.addPerson()).accountId;
  const rotation = { tokenId: team.token.id, graceSeconds: 3600, idempotencyKey: undefined };
  const { value } = await rotateToken(team.actor(second), rotation, keep.services);
  const rotated = await propose(value);
  for (const person of [first, second])
    expect(await tryApproval(rotated, { person })).toBe("second-person-required");
  const rule = await addTrustRule();
  await keep.database.inAccount(team.organisation, async (transaction) => {
    const found = await findTrustRule(transaction, { accountId: team.organisation, id: rule });
    if (found !== undefined) await updateTrustRule(transaction, found, `person:${second}`);
  });
  const issued = await team.addToken({ scopes: everyScope }, `trust-rule:${rule}`);
  const exchanged = await propose(issued.text);
  for (const person of [first, second])
    expect(await tryApproval(exchanged, { person })).toBe("second-person-required");
  // Rotated when nobody stored by whom.
  await keep.database.inAccount(team.organisation, (transaction) =>
    transaction.query({ text: "UPDATE api_token SET rotated_by = '{}'" }),
  );
  expect((await team.send("POST", `${vault}/changes`, body, value)).status).toBe(409);
  expect(await readState()).toEqual(before);
  expect(await tryApproval(rotated, { person: third })).toBe("approved");
  expect(await readState()).toEqual(after);
});

/** By the first person. */
async function addTrustRule(): Promise<string> {
  const rule = generateId();
  await keep.database.inAccount(team.organisation, (transaction) =>
    transaction.query({
      text: "INSERT INTO trust_rule (id, account_id, name, provider, issuer, conditions, scopes, lifetime_seconds, created_by) VALUES ($1, $2, 'Deploy', 'generic', 'https://issuer.test', '[]', '{vaults:read}', 900, $3)",
      values: [rule, team.organisation, `person:${team.people[0]}`],
    }),
  );
  return rule;
}

const scoped = (...names: readonly Scope[]) => ({ permissions: [{ scopes: expandScopes(names) }] });

test("the approver must be allowed to do every operation alone", async () => {
  const change = await propose(undefined, {
    reason: "Two",
    operations: [...body.operations, { op: "delete", path: "/prod/OTHER" }],
  });
  expect(await tryApproval(change, { grant: scoped("secrets:read") })).toBe("insufficient-scope");
  expect(await tryApproval(change, { grant: scoped("secrets:write") })).toBe("insufficient-scope");
  const everything = { scopes: expandScopes(scopes) };
  const limited = (limits: object) => ({ permissions: [{ ...everything, ...limits }] });
  const elsewhere = limited({ paths: ["/dev/**"] });
  expect(await tryApproval(change, { grant: elsewhere })).toBe("not-found");
  const part = limited({ paths: ["/prod/KEY"] });
  expect(await tryApproval(change, { grant: part })).toBe("not-found");
  const otherVault = limited({ vaultIds: new Set([generateId()]) });
  expect(await tryApproval(change, { grant: otherVault })).toBe("not-found");
  const settings = await propose(undefined, { reason: "Settings", protected_paths: [] });
  expect(await tryApproval(settings, { grant: scoped("secrets:write") })).toBe("insufficient-scope");
  expect(await tryApproval(settings, { grant: limited({ paths: ["/prod/**"] }) })).toBe("not-found");
  const reference = await propose(undefined, {
    reason: "Reference",
    operations: [{ op: "put", path: "/prod/NEW", value: "${/other/SECRET} and ${./OTHER}" }],
  });
  expect(await tryApproval(reference, { grant: limited({ paths: ["/prod/**"] }) })).toBe("out-of-reach");
  expect(await tryApproval(reference, { grant: scoped("secrets:write") })).toBe("insufficient-scope");
  await expectTwin(change);
});

test("the change of a person who was removed, suspended or restricted is not applied", async () => {
  const [first] = team.people;
  const proposeAsPerson = async () => {
    const { result: id } = await proposeChange(
      { actor: team.actor(first), vaultId: vaultIdOf(vault), idempotencyKey: undefined, reason: "Mine" },
      { operations: [{ op: "put", path: "/prod/KEY", value: "second" }], settings: {}, vaultAction: null },
      team.decisions,
    );
    return expectOk(team.send("GET", `${vault}/changes/${id}`));
  };
  const change = await proposeAsPerson();
  const narrow = {
    ...team.decisions,
    findAccess: async () => ({
      role: "member" as const,
      grant: { permissions: [{ scopes: expandScopes(scopes), paths: ["/dev/**"] }] },
    }),
  };
  const request = { actor: team.actor(team.people[1]), vaultId: vaultIdOf(vault), changeId: change.id };
  const fingerprint = Buffer.from(change.fingerprint, "hex");
  await expect(
    approveChange({ ...request, idempotencyKey: undefined }, fingerprint, narrow),
  ).rejects.toMatchObject({ failure: { kind: "conflict", reason: expect.stringContaining("no longer") } });
  await keep.database.inAccount(first, (transaction) =>
    suspendAccount(transaction, { accountId: first, operator: "command-line" }, keep.services),
  );
  expect(await tryApproval(change)).toBe("conflict");
  expect(await readState()).toEqual(before);
});

test("the change of a person who is no longer a member is not applied", async () => {
  const [first, second] = team.people;
  const { result: id } = await proposeChange(
    { actor: team.actor(first), vaultId: vaultIdOf(vault), idempotencyKey: undefined, reason: "Mine" },
    { operations: [{ op: "put", path: "/prod/KEY", value: "second" }], settings: {}, vaultAction: null },
    team.decisions,
  );
  const change = await expectOk(team.send("GET", `${vault}/changes/${id}`));
  const ref = { accountId: team.organisation, personId: first };
  const by = team.actor(second);
  await keep.database.inAccount(team.organisation, (transaction) =>
    removeMember(transaction, { ...ref, by }, keep.services),
  );
  expect(await tryApproval(change)).toBe("conflict");
  // Nor of a row of a member that was inserted by hand.
  await keep.database.inAccount(team.organisation, (transaction) =>
    transaction.query({
      text: "INSERT INTO member (person_id, account_id, role) VALUES ($1, $2, 'owner')",
      values: [first, team.organisation],
    }),
  );
  expect(await tryApproval(change)).toBe("conflict");
  expect(await readState()).toEqual(before);
});

test("the change of a token that was revoked or has expired is not applied", async () => {
  const [first] = team.people;
  const token = await team.addToken({ scopes: everyScope }, `person:${first}`);
  const change = await propose(token.text);
  const setToken = (assignment: string) =>
    keep.database.inAccount(team.organisation, (transaction) =>
      transaction.query({ text: `UPDATE api_token SET ${assignment} WHERE id = $1`, values: [token.id] }),
    );
  await setToken("revoked_at = now(), revoke_reason = 'asked'");
  expect(await tryApproval(change)).toBe("conflict");
  await setToken("revoked_at = NULL, revoke_reason = NULL, expires_at = now() - interval '1 minute'");
  expect(await tryApproval(change)).toBe("conflict");
  // With more scopes than it was signed with.
  await setToken("expires_at = NULL, paths = '{/elsewhere/**}'");
  expect(await tryApproval(change)).toBe("conflict");
  await setToken("paths = NULL");
  await expectTwin(change);
});

test("what changed after the proposal makes the approval fail in words, until it is proposed again", async () => {
  const stale = await propose();
  const other = await propose(undefined, {
    reason: "Meanwhile",
    operations: [{ op: "put", path: "/prod/KEY", value: "meanwhile" }],
  });
  expect(await tryApproval(other)).toBe("approved");
  await expect(
    approve(team, { actor: team.actor(team.people[1]), vault, change: stale.id }, stale.fingerprint),
  ).rejects.toMatchObject({ failure: { kind: "conflict", reason: expect.stringContaining("/prod/KEY") } });
  const created = await propose(undefined, {
    reason: "New",
    operations: [{ op: "put", path: "/prod/NEW", value: "x" }],
  });
  const same = await propose(undefined, {
    reason: "New too",
    operations: [{ op: "put", path: "/prod/NEW", value: "y" }],
  });
  expect(await tryApproval(created)).toBe("approved");
  expect(await tryApproval(same)).toBe("conflict");
  const settings = await propose();
  await expectOk(team.send("PATCH", vault, { protected_paths: ["/prod/**", "/more/**"] }));
  expect(await tryApproval(settings)).toBe("conflict");
  expect(await readState()).toEqual({ value: "meanwhile", version: 2 });
  expect(await tryApproval(await propose())).toBe("approved");
  expect(await readState()).toEqual({ value: "second", version: 3 });
});

const move = (text: string, values: unknown[]) =>
  asSuperuser(keep.databaseUrl, (superuser) => superuser.query(text, values));

test("a fingerprint of another change, and a change of another vault, approve nothing", async () => {
  const change = await propose();
  const harmless = await propose(undefined, {
    reason: "Harmless",
    operations: [{ op: "put", path: "/free/KEY", value: "x" }],
  });
  expect(await tryApproval({ id: change.id, fingerprint: harmless.fingerprint })).toBe("conflict");
  expect(await tryApproval({ id: harmless.id, fingerprint: change.fingerprint })).toBe("conflict");
  const otherVault = await team.createVault();
  expect(await tryApproval(change, { in: otherVault })).toBe("not-found");
  // The row moved to the vault, and what it does put into another row.
  await move("UPDATE proposed_change SET vault_id = $2 WHERE id = $1", [change.id, vaultIdOf(otherVault)]);
  expect(await tryApproval(change, { in: otherVault })).toBe("not-found");
  await move("UPDATE proposed_change SET vault_id = $2 WHERE id = $1", [change.id, vaultIdOf(vault)]);
  const swap =
    "UPDATE proposed_change SET sealed = other.sealed FROM proposed_change AS other WHERE proposed_change.id = $1 AND other.id = $2";
  const twin = await propose(undefined, { ...body, reason: "Twin" });
  await move(swap, [harmless.id, change.id]);
  expect(await tryApproval(harmless)).toBe("integrity-broken");
  for (const assignment of [
    "barred_people = '{00000000-0000-0000-0000-000000000000}'",
    "person_id = '00000000-0000-0000-0000-000000000000'",
    "expires_at = expires_at + interval '1 day'",
    "fingerprint = sha256('other')",
    "paths = '{/free/KEY}'",
  ]) {
    const changed = await propose(undefined, { ...body, reason: assignment.slice(0, 100) });
    await move(`UPDATE proposed_change SET ${assignment} WHERE id = $1`, [changed.id]);
    expect([assignment, await tryApproval(changed)]).toEqual([assignment, "not-found"]);
    expect([assignment, await tryApproval(changed, { person: team.people[0] })]).toEqual([
      assignment,
      "not-found",
    ]);
  }
  await expectTwin(twin);
});

test("a row that is put back after an approval, a rejection or a withdrawal does not work again", async () => {
  const deciders = {
    approved: (change: Change) => tryApproval(change),
    rejected: (change: Change) =>
      reject(team, { actor: team.actor(team.people[1]), vault, change: change.id }),
    withdrawn: (change: Change) => team.send("DELETE", `${vault}/changes/${change.id}`),
  };
  for (const [state, decide] of Object.entries(deciders)) {
    const path = `/prod/${state}`;
    const proposal = (value: string) => ({ reason: state, operations: [{ op: "put", path, value }] });
    const change = await propose(undefined, proposal("decided"));
    const waiting = await propose(undefined, proposal("waiting"));
    await asSuperuser(keep.databaseUrl, async (superuser) => {
      const copies = await copyRows(superuser, [
        { table: "proposed_change", column: "id", value: change.id },
      ]);
      await decide(change);
      // As if it had never been applied.
      if (state === "approved")
        await tryApproval(await propose(undefined, { reason: "Undo", operations: [{ op: "delete", path }] }));
      await copies.putBack();
    });
    expect([state, await tryApproval(change)]).toEqual([state, "not-found"]);
    expect((await team.send("GET", `${vault}/changes/${change.id}`)).status).toBe(404);
    const { items } = await expectOk(team.send("GET", `${vault}/changes`));
    expect(items.map(({ id }) => id)).not.toContain(change.id);
    // The change that waited all the time still works.
    expect([state, await tryApproval(waiting)]).toEqual([state, "approved"]);
  }
});

test("of concurrent approvals, rejections and withdrawals exactly one wins", async () => {
  const [first, second] = team.people;
  const people = [second, (await keep.addPerson()).accountId, (await keep.addPerson()).accountId];
  for (let round = 0; round < 5; round += 1) {
    const { version } = await readState();
    const change = await propose(undefined, {
      reason: "Contested",
      operations: [{ op: "put", path: "/prod/KEY", value: `round ${round}` }],
    });
    const target = (person: string) => ({ actor: team.actor(person), vault, change: change.id });
    const settled = await Promise.allSettled([
      ...people.map((person) => approve(team, target(person), change.fingerprint)),
      reject(team, target(second)),
      withdraw(team, { ...target(first), actor: { ...team.actor(first), kind: "token", id: team.token.id } }),
    ]);
    const failures = settled.flatMap((outcome) =>
      outcome.status === "rejected" ? [failureOf(outcome.reason)] : [],
    );
    expect(failures).toEqual(Array.from({ length: settled.length - 1 }, () => "conflict"));
    const { state } = await expectOk(team.send("GET", `${vault}/changes/${change.id}`));
    expect((await readState()).version).toBe(state === "approved" ? version + 1 : version);
  }
});

type Counted = { readonly count: () => Promise<unknown>; readonly versions: unknown };

/** And can be approved again. */
async function expectUnapplied(change: Change, { count, versions }: Counted): Promise<void> {
  expect(await count()).toEqual(versions);
  expect(await tryApproval(change)).toBe("approved");
}

test("an approval whose connection is killed at any statement is applied completely or not at all", async () => {
  const operations = ["/prod/KEY", "/prod/OTHER", "/prod/NEW"].map((path) => ({
    op: "put",
    path,
    value: "second",
  }));
  let kills = 0;
  for (let statement = 1; ; statement += 1) {
    const change = await propose(undefined, { reason: "Killed", operations });
    const count = async () => {
      const { items } = await expectOk(team.send("GET", `${vault}/secrets?path=/prod`));
      return new Map(items.map((item) => [item.path, item.version]));
    };
    const versions = await count();
    const database = killAt(keep.database, statement, () => (kills += 1));
    const killed = kills;
    const actor = team.actor(team.people[1]);
    await approve(
      { ...team, decisions: { ...team.decisions, database } },
      { actor, vault, change: change.id },
      change.fingerprint,
    ).catch(() => undefined);
    const { state } = await expectOk(team.send("GET", `${vault}/changes/${change.id}`));
    if (state === "pending") await expectUnapplied(change, { count, versions });
    const next = operations.map(({ path }) => [path, (versions.get(path) ?? 0) + 1] as const);
    expect(await count()).toEqual(new Map(next));
    if (kills === killed) break;
  }
  expect(kills).toBeGreaterThan(10);
});

/** Ends the connection before its statement with this number, as a killed node or server does. */
function killAt(
  database: Database,
  statement: number,
  onKill: () => void,
): Pick<Database, "inAccount" | "acrossAccounts"> {
  return {
    acrossAccounts: (work) => database.acrossAccounts(work),
    inAccount: (accountId, work) =>
      database.inAccount(accountId, (transaction) => {
        let sent = 0;
        return work({
          ...transaction,
          async query(each) {
            sent += 1;
            if (sent === statement) {
              onKill();
              await transaction.query({ text: "SELECT pg_terminate_backend(pg_backend_pid())" });
            }
            return transaction.query(each);
          },
        });
      }),
  };
}

test("an organisation with protected paths is not deleted by one owner", async () => {
  const [first] = team.people;
  const remove = () =>
    keep.database.inAccount(team.organisation, (transaction) =>
      deleteAccount(transaction, { actor: team.actor(first), confirmation: team.name }, keep.services),
    );
  await expect(remove()).rejects.toMatchObject({ failure: { kind: "conflict" } });
  expect(await readState()).toEqual(before);
  expect(await tryApproval(await propose(undefined, { reason: "End", protected_paths: [] }))).toBe(
    "approved",
  );
  await remove();
  // The server may have the token in its cache for a moment.
  expect([401, 404]).toContain((await team.send("GET", vault)).status);
});

test("a role that is changed while a change waits does not make the proposer a second person", async () => {
  const [first, second] = team.people;
  const change = await propose();
  await keep.database.inAccount(team.organisation, (transaction) =>
    changeRole(
      transaction,
      { accountId: team.organisation, personId: first, role: "member", by: team.actor(second) },
      keep.services,
    ),
  );
  expect(await tryApproval(change, { person: first })).toBe("second-person-required");
  await expectTwin(change);
});
