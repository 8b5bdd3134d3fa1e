import type { Change } from "@hearth-and-keep/vault-contract";
import { afterAll, beforeAll, expect, test } from "vitest";
import { deleteExpired } from "../../cleanup/delete-expired.ts";
import { reencryptVaults } from "../../keys/rotation/reencrypt-vaults.ts";
import { openVault, startUnlimitedKeep } from "../../test/open-vault.ts";
import type { TestKeep } from "../../test/start-test-keep.ts";
import { findChange } from "./queries.ts";
import {
  approve,
  changeTogether,
  expectOk,
  type ResponseBody,
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
beforeAll(async () => {
  keep = await startUnlimitedKeep();
  team = await startTeam(keep);
  vault = await team.createVault();
  await writeAll(team, vault, { "/prod/KEY": "first", "/prod/OLD": "old", "/dev/KEY": "dev" });
  await expectOk(team.send("PATCH", vault, { protected_paths: ["/prod/**"] }));
});
afterAll(() => keep[Symbol.asyncDispose]());

async function readValue(path: string): Promise<string | undefined> {
  const { status, body } = await team.send("GET", `${vault}/values/by-path${path}`);
  return status === 200 ? body.value : undefined;
}

/** Of the vault, oldest first. */
async function listEvents(): Promise<readonly ResponseBody["items"][number]["body"][]> {
  const { body } = await team.send("GET", `${vault}/audit?limit=200`);
  return body.items.map((item) => item.body).toReversed();
}

test("a change is reviewed, approved by a second person, and applied once with its records", async () => {
  const operations = [
    { op: "put", path: "/prod/KEY", value: "second", tags: ["db"], note: "rotated" },
    { op: "move", path: "/prod/OLD", to: "/prod/NEW" },
    { op: "put", path: "/prod/ADDED", value: "added" },
    { op: "delete", path: "/dev/KEY" },
  ];
  const proposed = await expectOk(team.send("POST", `${vault}/changes`, { reason: "OPS-314", operations }));
  expect(await readValue("/prod/KEY")).toBe("first");
  const secret = await expectOk(team.send("GET", `${vault}/secrets/by-path/prod/KEY`));
  expect(proposed).toMatchObject({
    state: "pending",
    reason: "OPS-314",
    operation_count: 4,
    proposed_by: `token:${team.token.id}`,
    decided_by: null,
    decided_at: null,
    operations: [
      { op: "put", path: "/prod/KEY", revision: secret.revision, tags: ["db"], note: "written", size: 6 },
      { op: "move", path: "/prod/OLD", to: "/prod/NEW" },
      { op: "put", path: "/prod/ADDED", revision: 0, size: 5 },
      { op: "delete", path: "/dev/KEY" },
    ],
  });
  expect(JSON.stringify(proposed)).not.toMatch(/second|rotated|"added"/u);
  const reviewed = await expectOk(team.send("GET", `${vault}/changes/${proposed.id}?values=true`));
  expect(reviewed.operations?.[0]).toMatchObject({ value: "second", encoding: "utf8", note_text: "rotated" });
  const [, second] = team.people;
  await approve(team, { actor: team.actor(second), vault, change: proposed.id }, reviewed.fingerprint);
  expect(await readValue("/prod/KEY")).toBe("second");
  expect(await readValue("/prod/NEW")).toBe("old");
  expect(await readValue("/prod/ADDED")).toBe("added");
  expect([await readValue("/prod/OLD"), await readValue("/dev/KEY")]).toEqual([undefined, undefined]);
  const decided = await expectOk(team.send("GET", `${vault}/changes/${proposed.id}`));
  expect(decided).toMatchObject({ state: "approved", decided_by: `person:${second}` });
  expect(decided.operations).toBeUndefined();
  expect(
    (await expectOk(team.send("GET", `${vault}/changes?state=decided`))).items.map(({ id }) => id),
  ).toEqual([proposed.id]);
  await expectRecords(proposed);
});

async function expectRecords({ id: change, fingerprint }: Change): Promise<void> {
  const [, second] = team.people;
  const events = (await listEvents()).filter(({ type }) => type !== "value-read");
  const by = `token:${team.token.id}`;
  const approver = `person:${second}`;
  expect(events.slice(-6)).toMatchObject([
    { type: "change-read", by, change, fingerprint },
    { type: "change-approved", by: approver, approver, proposer: by, change, fingerprint },
    { type: "secret-written", by, path: "/prod/KEY", version: 2 },
    { type: "secret-changed", by, path: "/prod/NEW" },
    { type: "secret-written", by, path: "/prod/ADDED", version: 1 },
    { type: "secret-deleted", by, path: "/dev/KEY" },
  ]);
  const proposal = { by, change, fingerprint, reason: "OPS-314", operations: 4 };
  expect(events.find(({ type }) => type === "change-proposed")).toMatchObject(proposal);
}

test("a rejected, a withdrawn and an expired change end with a record and without an effect", async () => {
  const before = await readValue("/prod/KEY");
  const propose = (value: string) =>
    expectOk(
      team.send("POST", `${vault}/changes`, {
        reason: "Never applied",
        operations: [{ op: "put", path: "/prod/KEY", value }],
      }),
    );
  const [first, second] = team.people;
  const [rejected, withdrawn, expired] = [await propose("a"), await propose("b"), await propose("c")];
  const pending = await expectOk(team.send("GET", `${vault}/changes?limit=2`));
  expect(pending.items.map(({ id }) => id)).toEqual([expired.id, withdrawn.id]);
  const rest = await expectOk(team.send("GET", `${vault}/changes?cursor=${pending.next_cursor}`));
  expect(rest.items.map(({ id }) => id)).toEqual([rejected.id]);
  await reject(team, { actor: team.actor(second), vault, change: rejected.id });
  await expect(
    withdraw(team, { actor: team.actor(first), vault, change: withdrawn.id }),
  ).rejects.toMatchObject({ failure: { kind: "conflict" } });
  expect((await team.send("DELETE", `${vault}/changes/${withdrawn.id}`)).status).toBe(204);
  await expireChange(expired.id);
  await expect(
    approve(team, { actor: team.actor(second), vault, change: expired.id }, expired.fingerprint),
  ).rejects.toMatchObject({ failure: { kind: "conflict", reason: expect.stringContaining("expired") } });
  await deleteExpired({ ...keep.services, signal: new AbortController().signal });
  for (const [{ id, fingerprint }, state] of [
    [rejected, "rejected"],
    [withdrawn, "withdrawn"],
    [expired, "expired"],
  ] as const) {
    expect((await expectOk(team.send("GET", `${vault}/changes/${id}`))).state).toBe(state);
    await expect(
      approve(team, { actor: team.actor(second), vault, change: id }, fingerprint),
    ).rejects.toMatchObject({ failure: { kind: "conflict", reason: expect.stringContaining(state) } });
    expect(await listEvents()).toContainEqual(
      expect.objectContaining({
        type: `change-${state}`,
        change: id,
        by: { rejected: `person:${second}`, withdrawn: `token:${team.token.id}`, expired: "server" }[state],
      }),
    );
  }
  expect(await readValue("/prod/KEY")).toBe(before);
});

/** Lets a week pass for a pending change, and signs it as if Keep had written it so. */
async function expireChange(id: string): Promise<void> {
  const { rowMacs } = keep.services.serverKeys;
  await keep.database.inAccount(team.organisation, async (transaction) => {
    await transaction.query({
      text: "UPDATE proposed_change SET expires_at = date_trunc('milliseconds', now() - interval '1 second') WHERE id = $1",
      values: [id],
    });
    const row = await findChange(transaction, {
      accountId: team.organisation,
      vaultId: vaultIdOf(vault),
      id,
    });
    const [counted] = await transaction.query<{ count: number }>({
      text: "SELECT decided_changes AS count FROM vault WHERE id = $1",
      values: [vaultIdOf(vault)],
    });
    if (row === undefined || counted === undefined) throw new Error("There is no such change");
    const mac = rowMacs.compute({ proposedChange: row, status: counted.count });
    await transaction.query({
      text: "UPDATE proposed_change SET mac = $2 WHERE id = $1",
      values: [id, mac],
    });
  });
}

const put = (path: string, more: object = {}) => ({ operations: [{ op: "put", path, value: "x", ...more }] });

test("a change that could not be applied is refused when it is proposed", async () => {
  const propose = async (body: object, token?: string) => {
    const answer = await team.send("POST", `${vault}/changes`, { reason: "Refused", ...body }, token);
    return [answer.status, answer.body.code];
  };
  expect(await propose({})).toEqual([422, "validation_failed"]);
  expect(await propose({ ...put("/prod/KEY"), delete_vault: true })).toEqual([422, "validation_failed"]);
  expect(await propose({ operations: [{ op: "delete", path: "/prod/MISSING" }] })).toEqual([
    404,
    "not_found",
  ]);
  expect(await propose(put("/prod/KEY", { if_revision: 0 }))).toEqual([412, "precondition_failed"]);
  expect(await propose(put("/prod/KEY", { type: "json", value: "{" }))).toEqual([422, "validation_failed"]);
  expect(await propose({ protected_paths: ["prod"] })).toEqual([422, "validation_failed"]);
  expect(await propose({ restore_vault: true })).toEqual([404, "not_found"]);
  const [first] = team.people;
  const limited = async (grant: Parameters<Team["addToken"]>[0]) =>
    (await team.addToken(grant, `person:${first}`)).text;
  const writer = await limited({ scopes: ["secrets:write"], paths: ["/dev/**"] });
  expect(await propose(put("/prod/KEY"), writer)).toEqual([403, "out_of_reach"]);
  expect(await propose({ protected_paths: [] }, writer)).toEqual([403, "insufficient_scope"]);
  const manager = await limited({ scopes: ["secrets:write", "vaults:write"], paths: ["/prod/**"] });
  expect(await propose({ protected_paths: [] }, manager)).toEqual([403, "out_of_reach"]);
  expect(await propose({ delete_vault: true }, manager)).toEqual([403, "insufficient_scope"]);
  expect(await propose({ operations: [{ op: "delete", path: "/prod/KEY" }] }, manager)).toEqual([
    403,
    "insufficient_scope",
  ]);
  // The twin of the refused ones.
  expect(await propose(put("/prod/KEY"), manager)).toEqual([201, undefined]);
});

test("a token sees only proposed changes of its paths, and values only with secrets:read", async () => {
  const [first] = team.people;
  const change = await expectOk(
    team.send("POST", `${vault}/changes`, {
      reason: "Seen by few",
      operations: [{ op: "put", path: "/prod/KEY", value: "hidden" }],
    }),
  );
  const as = async (grant: Parameters<Team["addToken"]>[0], query = "") => {
    const { text } = await team.addToken(grant, `person:${first}`);
    const { status } = await team.send("GET", `${vault}/changes/${change.id}${query}`, undefined, text);
    const { body } = await team.send("GET", `${vault}/changes`, undefined, text);
    return [status, body.items.some(({ id }) => id === change.id)];
  };
  expect(await as({ scopes: ["secrets:list"] })).toEqual([200, true]);
  expect(await as({ scopes: ["secrets:list"] }, "?values=true")).toEqual([403, true]);
  expect(await as({ scopes: ["secrets:read"] }, "?values=true")).toEqual([200, true]);
  expect(await as({ scopes: ["secrets:list"], paths: ["/prod/*"] })).toEqual([200, true]);
  expect(await as({ scopes: ["secrets:list"], paths: ["/dev/**"] })).toEqual([404, false]);
});

/** Writes without a proposal. */
const writeDirectly = (path: string) =>
  team.send("PUT", `${vault}/secrets/by-path${path}`, { value: "direct" });

async function listUnapproved() {
  const { items } = await expectOk(team.send("GET", "/api/secrets/audit?type=denied"));
  return items.map(({ body }) => body).filter(({ reason }) => reason === "approval-required");
}

test("a direct write at a protected path is recorded as denied, and one elsewhere as a write", async () => {
  expect((await writeDirectly("/prod/DIRECT")).status).toBe(409);
  await expectOk(writeDirectly("/dev/DIRECT"));
  const route = "PUT /api/secrets/vaults/:vault/secrets/by-path/*";
  await expect.poll(listUnapproved).toMatchObject([{ route, target: "/prod/DIRECT" }]);
});

test("in a personal account, protected paths and proposed changes are refused in words", async () => {
  await using own = await openVault(keep);
  const [status, body] = await own.json("PATCH", "", { protected_paths: ["/prod/**"] });
  expect([status, body.errors?.[0]?.place]).toEqual([422, "protected_paths"]);
  expect(body.errors?.[0]?.reason).toContain("personal account");
  const operations = [{ op: "put", path: "/KEY", value: "x" }];
  const [proposed, problem] = await own.json("POST", "/changes", { reason: "Alone", operations });
  expect(proposed).toBe(422);
  expect(problem.errors?.[0]?.reason).toContain("personal account");
  expect((await own.json("PATCH", "", { protected_paths: [] }))[0]).toBe(200);
});

test("a protected path that no secret can have is refused, because it would protect nothing", async () => {
  const shielded = await team.createVault();
  const unmatched = [
    "/prod /**",
    "/ prod/*",
    "/prod\u200b/**",
    "/prod/../KEY",
    `/${"a".repeat(256)}/**`,
    `${"/a".repeat(16)}/**`,
    "/prod/",
    "/prod//KEY",
    "/**/KEY",
    "/e\u0301/**",
  ];
  for (const path of unmatched) {
    const { status, body } = await team.send("PATCH", shielded, { protected_paths: ["/dev/*", path] });
    expect([path, status, body.errors?.[0]?.place]).toEqual([path, 422, "protected_paths.1"]);
  }
  const matched = ["/prod x/**", "/*/KEY", `${"/a".repeat(15)}/**`, "/\u00e9/*/b", "/**"];
  await expectOk(team.send("PATCH", shielded, { protected_paths: matched }));
});

test("settings and deletions take effect once a second person approves them", async () => {
  const shielded = await team.createVault();
  await writeAll(team, shielded, { "/prod/KEY": "kept" });
  await expectOk(
    team.send("PATCH", shielded, {
      protected_paths: ["/prod/**"],
      environments: ["prod"],
      base: "/base",
      most_versions: 10,
    }),
  );
  const refused = async (method: string, path: string, body?: object) => {
    const answer = await team.send(method, shielded + path, body);
    return [answer.status, answer.body?.code];
  };
  const required = [409, "approval_required"];
  expect(await refused("PATCH", "", { protected_paths: ["/prod/*"] })).toEqual(required);
  expect(await refused("PATCH", "", { environments: [] })).toEqual(required);
  expect(await refused("PATCH", "", { base: null })).toEqual(required);
  expect(await refused("PATCH", "", { most_versions: 9 })).toEqual(required);
  expect(await refused("PUT", "/secrets/by-path/base/KEY", { value: "inherited" })).toEqual(required);
  expect(await refused("DELETE", "")).toEqual(required);
  expect(await refused("DELETE", "?purge=true")).toEqual(required);
  // Nothing loses its protection.
  expect(await refused("PATCH", "", { protected_paths: ["/prod/**", "/dev/**"], most_versions: 20 })).toEqual(
    [200, undefined],
  );
  expect(await refused("PATCH", "", { environments: ["prod", "test"] })).toEqual([200, undefined]);
  await changeTogether(team, shielded, { base: null, most_versions: 5, protected_paths: ["/prod/KEY"] });
  expect(await expectOk(team.send("GET", shielded))).toMatchObject({
    base: null,
    most_versions: 5,
    protected_paths: ["/prod/KEY"],
  });
  await changeTogether(team, shielded, { delete_vault: true });
  expect((await team.send("GET", shielded)).status).toBe(404);
  expect(await refused("POST", "/restore")).toEqual(required);
  expect(await refused("DELETE", "?purge=true")).toEqual(required);
  await changeTogether(team, shielded, { restore_vault: true });
  expect(await expectOk(team.send("GET", `${shielded}/values/by-path/prod/KEY`))).toMatchObject({
    value: "kept",
  });
  await changeTogether(team, shielded, { protected_paths: [] });
  expect(await refused("DELETE", "?purge=true")).toEqual([204, undefined]);
});

test("the database has no value or note of a pending change in clear", async () => {
  const [value, note] = [`value-${crypto.randomUUID()}`, `note-${crypto.randomUUID()}`];
  const operations = [{ op: "put", path: "/prod/KEY", value, note }];
  const { id } = await expectOk(team.send("POST", `${vault}/changes`, { reason: "In clear", operations }));
  const [row] = await keep.database.queryInAccount<{ text: string }>(team.organisation, {
    text: "SELECT proposed_change::text AS text FROM proposed_change WHERE account_id = entered.account::uuid AND id = $2",
    values: [id],
  });
  expect(row?.text).toContain("In clear");
  for (const secret of [value, note])
    for (const encoding of ["utf8", "hex", "base64"] as const)
      expect(row?.text).not.toContain(Buffer.from(secret).toString(encoding).slice(0, 20));
});

test("a vault has at most 100 pending changes", async () => {
  const full = await team.createVault();
  const propose = () =>
    team.send("POST", `${full}/changes`, {
      reason: "One of many",
      operations: [{ op: "put", path: "/KEY", value: "x" }],
    });
  for (let count = 0; count < 100; count += 1) expect((await propose()).status).toBe(201);
  const last = await propose();
  expect([last.status, last.body.code]).toEqual([409, "quota_exceeded"]);
});

test("a pending change outlives a rotation of the vault's key", async () => {
  const rotated = await team.createVault();
  const change = await expectOk(
    team.send("POST", `${rotated}/changes`, {
      reason: "Before the rotation",
      operations: [{ op: "put", path: "/KEY", value: "after" }],
    }),
  );
  await expectOk(team.send("POST", `${rotated}/rotate-key`));
  const versionOf = async () => {
    const [row] = await keep.database.queryInAccount<{ version: number }>(team.organisation, {
      text: "SELECT key_version AS version FROM proposed_change WHERE account_id = entered.account::uuid AND id = $2",
      values: [change.id],
    });
    return row?.version;
  };
  await reencryptVaults({ ...keep.services, signal: new AbortController().signal });
  await expect.poll(versionOf, { timeout: 20_000 }).toBe(2);
  const [, second] = team.people;
  await approve(team, { actor: team.actor(second), vault: rotated, change: change.id }, change.fingerprint);
  expect(await expectOk(team.send("GET", `${rotated}/values/by-path/KEY`))).toMatchObject({ value: "after" });
});

test("a repeated proposal with the same key is proposed once", async () => {
  const idempotent = await team.createVault();
  const body = { reason: "Once", operations: [{ op: "put", path: "/KEY", value: "x" }] };
  const propose = async () => {
    const response = await keep.request(`${idempotent}/changes`, {
      method: "POST",
      token: team.token.text,
      body,
      headers: { "idempotency-key": "propose-once" },
    });
    // The response schema.
    return (await response.json()) as { readonly id: string };
  };
  const [{ id: one }, { id: other }] = [await propose(), await propose()];
  expect(one).toBe(other);
  expect((await expectOk(team.send("GET", `${idempotent}/changes`))).items).toHaveLength(1);
});
