import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { Hidden } from "@hearth-and-keep/logging";
import { createOutbound } from "@hearth-and-keep/outbound-http";
import { type CodeHostingAccount, makeTemporaryFolder } from "@hearth-and-keep/test-servers";
import { Client } from "pg";
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { resumeAccount, suspendAccount } from "../accounts/suspend-account.ts";
import { printAccount } from "../commands/manage-accounts.ts";
import { verifyDatabase } from "../commands/verify-audit.ts";
import { readKeys } from "../keys/key-encryption-key.ts";
import { findManagedAccount } from "../operators/queries.ts";
import { type FakeBrowser, readAs } from "../test/fake-browser.ts";
import { startServingNode } from "../test/serving-node.ts";
import { type KeepWithProviders, startKeepWithProviders } from "../test/start-keep-with-providers.ts";
import { type CheckOutcome, checkMemberships, type MembershipSource } from "./check-memberships.ts";

const organizations = ["acme", "other/platform"];
const settings = {
  admission: "rules",
  allowedCodeHostingOrgs: organizations.join(","),
  allowedEmailDomains: "company.test",
  allowedIdentities: "code-hosting:777",
  operators: "code-hosting:900",
};
const admission = {
  mode: "rules",
  emailDomains: new Set(["company.test"]),
  organizations,
  groups: new Set<string>(),
  identities: new Set(["code-hosting:777"]),
  operators: new Set(["code-hosting:900"]),
} as const;

let fixture: KeepWithProviders;
let source: MembershipSource;
let superuser: Client;
let outbound: ReturnType<typeof createOutbound>;

beforeAll(async () => {
  // Without a token, so that only the test runs checks.
  fixture = await startKeepWithProviders({ settings });
  const { codeHosting } = fixture;
  putAccount(1, { memberships: [acme, platform] });
  outbound = createOutbound({ privateHosts: [new URL(codeHosting.apiUrl).host] });
  const token = codeHosting.createToken(1, ["read:org"]);
  source = {
    client: { outbound, isInsecure: true, name: "Code Host" },
    api: new URL(codeHosting.apiUrl),
    issuer: codeHosting.origin,
    readToken: () => Promise.resolve(token),
  };
  superuser = new Client(fixture.keep.databaseUrl);
  await superuser.connect();
});
beforeEach(() => {
  fixture.codeHosting.overrideApi(undefined);
  fixture.codeHosting.watchApi(undefined);
});
afterAll(async () => {
  await superuser.end();
  await fixture[Symbol.asyncDispose]();
  await outbound[Symbol.asyncDispose]();
});

const acme = { organization: "acme", state: "active" } as const;
const platform = { organization: "other", team: "platform", state: "active" } as const;

function putAccount(id: number, changes: Partial<CodeHostingAccount> = {}): void {
  fixture.codeHosting.putAccount({ id, login: `login-${id}`, name: null, emails: [], ...changes });
}

let ids = 1000;
const member = { memberships: [acme] };
const companyEmail = {
  emails: [{ email: "p@company.test", primary: true, verified: true, visibility: null }],
};

type Person = {
  readonly id: number;
  readonly accountId: string;
  readonly browser: FakeBrowser;
  readonly statuses: () => Promise<readonly number[]>;
};

/** Signs in as a person with a session and a token. */
async function startPerson(changes: Partial<CodeHostingAccount> = member, id = (ids += 1)): Promise<Person> {
  putAccount(id, changes);
  const browser = await fixture.signIn("code-hosting", changes.login ?? `login-${id}`);
  const { id: accountId } = await browser.account();
  const { text } = await fixture.keep.addToken({ accountId }, { scopes: ["vaults:read"] });
  const statuses = async () => [
    (await browser.request("/api/session")).status,
    (await fixture.keep.request("/api/secrets/vaults", { token: text })).status,
  ];
  return { id, accountId, browser, statuses };
}

const works = [200, 200];
const hour = 3_600_000;

type Check = {
  readonly from?: Partial<MembershipSource>;
  /** The organizations and teams that admit, instead of the usual ones. */
  readonly named?: readonly string[];
  readonly hoursLater?: number;
};

/** Runs a check that is due; returns its outcome. */
async function check(how: Check = {}): Promise<CheckOutcome | undefined> {
  await superuser.query("UPDATE membership_check SET due_at = now()");
  return checkIfDue(how);
}

async function checkIfDue({
  from = {},
  named = organizations,
  hoursLater = 0,
}: Check = {}): Promise<CheckOutcome | undefined> {
  let outcome: CheckOutcome | undefined;
  await checkMemberships({
    ...fixture.keep.services,
    source: { ...source, ...from },
    admission: { ...admission, organizations: named },
    intervalMilliseconds: 600_000,
    now: () => Date.now() + hoursLater * hour,
    onChecked: (result) => {
      outcome = result;
    },
    onIntegrityError: () => undefined,
    signal: new AbortController().signal,
  });
  return outcome;
}

async function stateOf({ accountId }: Person): Promise<string | undefined> {
  return (await findManagedAccount(fixture.keep.database, accountId))?.status;
}

async function secondsUntilDue(): Promise<number> {
  const { rows } = await superuser.query<{ seconds: number }>(
    "SELECT extract(epoch FROM due_at - now())::float8 AS seconds FROM membership_check",
  );
  return rows[0]?.seconds ?? Number.NaN;
}

/** Whose access must have ended after the check, and whose not. */
async function expectPaused(paused: readonly Person[], kept: readonly Person[]): Promise<void> {
  for (const person of paused) {
    expect(await stateOf(person)).toBe("paused");
    await expect.poll(person.statuses, { interval: 400 }).toEqual([401, 401]);
  }
  for (const person of kept)
    expect([await stateOf(person), await person.statuses()]).toEqual(["active", works]);
}

test("a membership that ended ends the access at the next check, and an admitted sign-in resumes it", async () => {
  const [gone, stays] = [await startPerson(), await startPerson()];
  expect(await check()).toBe("succeeded");
  await expectPaused([], [gone, stays]);
  putAccount(gone.id, { memberships: [] });
  expect(await check()).toBe("succeeded");
  await expectPaused([gone], [stays]);
  const lines: string[] = [];
  await printAccount(gone.accountId, { database: fixture.keep.database, print: (line) => lines.push(line) });
  expect(lines.join("\n")).toMatch(/ {2}paused {2}[^]*\npaused because the membership/u);
  await expect(fixture.signIn("code-hosting", `login-${gone.id}`)).rejects.toThrow("does not admit you");
  expect(await stateOf(gone)).toBe("paused");
  putAccount(gone.id, member);
  const again = await fixture.signIn("code-hosting", `login-${gone.id}`);
  expect((await again.account()).id).toBe(gone.accountId);
  expect(await stateOf(gone)).toBe("active");
  await expect.poll(gone.statuses, { interval: 400 }).toEqual([401, 200]);
  const page = await readAs<{ items: { body: { type: string; reason?: string } }[] }>(
    await again.request("/api/secrets/audit"),
  );
  const events = page.items.map(({ body: { type, reason } }) => [type, reason].join(" ").trim());
  expect(events.filter((event) => event.includes("paused"))).toEqual([
    "account-unpaused",
    "account-paused membership-ended",
  ]);
});

test("a member of a team loses access with the team, and so does a person whose user was deleted", async () => {
  const [gone, stays, deleted] = [
    await startPerson({ memberships: [platform] }),
    await startPerson({ memberships: [platform] }),
    await startPerson(),
  ];
  putAccount(gone.id, { memberships: [{ organization: "other", state: "active" }] });
  fixture.codeHosting.removeAccount(deleted.id);
  expect(await check()).toBe("succeeded");
  await expectPaused([gone, deleted], [stays]);
});

test("a person whose login somebody else has registered is paused, and a renamed member stays", async () => {
  const [gone, renamed] = [await startPerson(), await startPerson()];
  putAccount(gone.id, { login: `moved-${gone.id}`, memberships: [] });
  putAccount((ids += 1), { login: `login-${gone.id}`, ...member });
  putAccount(renamed.id, { login: `moved-${renamed.id}`, ...member });
  putAccount((ids += 1), { login: `login-${renamed.id}`, memberships: [] });
  expect(await check()).toBe("succeeded");
  await expectPaused([gone], [renamed]);
});

test("a login that is renamed during the check decides nothing until the next one", async () => {
  const gone = await startPerson();
  putAccount(gone.id, { memberships: [] });
  fixture.codeHosting.watchApi((route) => {
    if (route !== `GET /orgs/acme/memberships/login-${gone.id}`) return;
    putAccount(gone.id, { login: `moved-${gone.id}`, memberships: [] });
    putAccount((ids += 1), { login: `login-${gone.id}`, ...member });
  });
  expect(await check()).toBe("succeeded");
  await expectPaused([], [gone]);
  fixture.codeHosting.watchApi(undefined);
  await check();
  await expectPaused([gone], []);
});

test("people on a later page stay when others leave while the list is read", async () => {
  const first = ids + 1;
  for (let each = 0; each < 150; each += 1) putAccount((ids += 1), member);
  const last = await startPerson();
  let pages = 0;
  let confirmed = 0;
  fixture.codeHosting.watchApi((route) => {
    if (route === `GET /user/${last.id}`) confirmed += 1;
    if (route === "GET /orgs/acme/members") pages += 1;
    // Those who leave after the first page move the others to the pages that were read already.
    if (pages !== 2) return;
    for (let id = first; id <= first + 140; id += 1) putAccount(id, { memberships: [] });
  });
  expect(await check()).toBe("succeeded");
  expect(pages).toBe(2);
  expect(confirmed).toBeGreaterThan(0);
  await expectPaused([], [last]);
});

test.each([
  ["is down", { from: {}, status: 503, outcome: "unreachable" }],
  ["refuses the token", { from: {}, status: 401, outcome: "refused" }],
  ["lacks a permission", { from: {}, status: 403, outcome: "refused" }],
])(
  "while the provider %s everyone keeps access, until 24 hours without a check have passed",
  async (_, given) => {
    const [gone, stays, otherRule] = [
      await startPerson(),
      await startPerson(),
      await startPerson(companyEmail),
    ];
    putAccount(gone.id, { memberships: [] });
    fixture.codeHosting.overrideApi({ status: given.status });
    expect(await check({ hoursLater: 23.9 })).toBe(given.outcome);
    await expectPaused([], [gone, stays, otherRule]);
    expect(await check({ hoursLater: 24.1 })).toBe(given.outcome);
    await expectPaused([gone, stays], [otherRule]);
    fixture.codeHosting.overrideApi(undefined);
    await fixture.signIn("code-hosting", `login-${stays.id}`);
    expect(await check()).toBe("succeeded");
    expect(await stateOf(stays)).toBe("active");
  },
);

test("a token that does not see the organization, or cannot be read, takes access from no one", async () => {
  const gone = await startPerson();
  putAccount(gone.id, { memberships: [] });
  putAccount(2, { memberships: [] });
  for (const token of [
    fixture.codeHosting.createToken(2, ["read:org"]),
    fixture.codeHosting.createToken(1, ["user"]),
  ])
    expect(await check({ from: { readToken: () => Promise.resolve(token) } })).toBe("refused");
  expect(await check({ from: { readToken: () => Promise.resolve(undefined) } })).toBe("token-unreadable");
  expect(await check({ named: ["acme", "renamed-since"] })).toBe("refused");
  await expectPaused([], [gone]);
  await check();
  await expectPaused([gone], []);
});

test("a confirmed membership renews the lease", async () => {
  const stays = await startPerson();
  await superuser.query("UPDATE membership_check SET due_at = now()");
  expect(await check({ hoursLater: 2 })).toBe("succeeded");
  const { rows } = await superuser.query<{ seconds: number }>(
    "SELECT extract(epoch FROM now() - confirmed_at)::float8 AS seconds FROM identity WHERE account_id = $1",
    [stays.accountId],
  );
  expect(rows[0]?.seconds).toBeLessThan(30);
  fixture.codeHosting.overrideApi({ status: 503 });
  await check({ hoursLater: 23.9 });
  await expectPaused([], [stays]);
});

test("after a rate limit no request is sent until the provider allows it", async () => {
  const gone = await startPerson();
  putAccount(gone.id, { memberships: [] });
  let requests = 0;
  fixture.codeHosting.watchApi(() => {
    requests += 1;
  });
  fixture.codeHosting.overrideApi({ status: 429, headers: { "retry-after": "1200" } });
  expect(await check()).toBe("rate-limited");
  expect(requests).toBe(1);
  expect(await secondsUntilDue()).toBeGreaterThan(1100);
  const reset = String(Math.floor(Date.now() / 1000) + 1800);
  fixture.codeHosting.overrideApi({
    status: 403,
    headers: { "x-ratelimit-remaining": "0", "x-ratelimit-reset": reset },
  });
  expect(await check()).toBe("rate-limited");
  expect(await secondsUntilDue()).toBeGreaterThan(1700);
  expect(await checkIfDue()).toBeUndefined();
  expect(requests).toBe(2);
  await expectPaused([], [gone]);
});

async function link({ browser }: Person, subject: string, email: string): Promise<void> {
  fixture.general.putAccount({ subject, email, isEmailVerified: true });
  const started = await browser.request("/auth/link/general", { method: "POST" });
  const location = started.headers.get("location") ?? "";
  const linked = await browser.followCallback(await fixture.authenticateAt("general", location, subject));
  expect(linked.status).toBe(303);
}

test("people whom another rule or the settings admit keep access, and an identity that no rule admits keeps none", async () => {
  const otherRule = await startPerson({ ...companyEmail, ...member });
  const named = await startPerson(member, 777);
  const operator = await startPerson(member, 900);
  const linkedAdmitted = await startPerson();
  const linkedOther = await startPerson();
  await link(linkedAdmitted, "3001", "a@company.test");
  await link(linkedOther, "3002", "b@elsewhere.test");
  const people = [otherRule, named, operator, linkedAdmitted, linkedOther];
  await expectPaused([], people);
  for (const { id } of people) putAccount(id, { memberships: [] });
  expect(await check()).toBe("succeeded");
  await expectPaused([linkedOther], [otherRule, named, operator, linkedAdmitted]);
});

test("a sign-in does not lift an operator's suspension, and an operator does not resume a paused account", async () => {
  const person = await startPerson();
  const { database, services } = fixture.keep;
  const { accountId } = person;
  const act = (change: typeof suspendAccount) =>
    database.inAccount(accountId, (transaction) =>
      change(transaction, { accountId, operator: "command-line" }, services),
    );
  putAccount(person.id, { memberships: [] });
  await check();
  await expect(act(resumeAccount)).rejects.toMatchObject({ failure: { kind: "conflict" } });
  await act(suspendAccount);
  putAccount(person.id, member);
  await expect(fixture.signIn("code-hosting", `login-${person.id}`)).rejects.toThrow("suspended");
  expect(await stateOf(person)).toBe("disabled");
  await act(resumeAccount);
  await fixture.signIn("code-hosting", `login-${person.id}`);
  expect(await stateOf(person)).toBe("active");
});

test("what admitted a person, and when, cannot be changed or put back in the database", async () => {
  const people = [await startPerson(), await startPerson(), await startPerson(companyEmail)];
  const [otherRule, later, before] = people;
  const change = (person: Person | undefined, assignments: string) =>
    superuser.query(`UPDATE identity SET ${assignments} WHERE account_id = $1`, [person?.accountId]);
  await change(otherRule, "admitted_by = 'other-rule', confirmed_at = NULL");
  await change(later, "confirmed_at = now() + interval '1 year'");
  const { rows } = await superuser.query<{ mac: Buffer }>("SELECT mac FROM identity WHERE account_id = $1", [
    before?.accountId,
  ]);
  putAccount(before?.id ?? 0, member);
  await fixture.signIn("code-hosting", `login-${before?.id}`);
  await superuser.query(
    "UPDATE identity SET admitted_by = 'other-rule', confirmed_at = NULL, mac = $2 WHERE account_id = $1",
    [before?.accountId, rows[0]?.mac],
  );
  for (const { id } of people) putAccount(id, { memberships: [] });
  fixture.codeHosting.overrideApi({ status: 503 });
  await check();
  for (const person of people) expect(await stateOf(person)).toBe("paused");
});

test("the verification of the database reports an account that was put back after its pause", async () => {
  const gone = await startPerson();
  const saved = new Map<string, readonly Record<string, unknown>[]>();
  for (const table of ["account", "identity", "api_token", "token_route"]) {
    const { rows } = await superuser.query<Record<string, unknown>>(
      `SELECT * FROM ${table} WHERE account_id = $1`,
      [gone.accountId],
    );
    saved.set(table, rows);
  }
  putAccount(gone.id, { memberships: [] });
  await check();
  await expectPaused([gone], []);
  const [account] = saved.get("account") ?? [];
  await superuser.query("UPDATE account SET status = $2, epoch = $3, mac = $4 WHERE account_id = $1", [
    gone.accountId,
    account?.["status"],
    account?.["epoch"],
    account?.["mac"],
  ]);
  for (const table of ["identity", "api_token", "token_route"])
    for (const { mac } of saved.get(table) ?? [])
      await superuser.query(`UPDATE ${table} SET mac = $2 WHERE account_id = $1`, [gone.accountId, mac]);
  const lines: string[] = [];
  const wrapper = readKeys(new Hidden(fixture.keep.key));
  const { database } = fixture.keep;
  await verifyDatabase({}, { database, wrapper, print: (line) => lines.push(line) });
  expect(lines.join("\n")).toContain(`account ${gone.accountId} was put back after it was paused`);
});

test("the check of a node that was killed is started again by another one", {
  timeout: 300_000,
}, async () => {
  const gone = await startPerson();
  putAccount(gone.id, { memberships: [] });
  await using folder = await makeTemporaryFolder("keep-membership-token");
  const tokenFile = join(folder.path, "token");
  await writeFile(tokenFile, (await source.readToken()) ?? "");
  await superuser.query("UPDATE membership_check SET due_at = now() + interval '1 hour'");
  await using node = await startServingNode(fixture.keep.databaseUrl, fixture.keep.key, {
    KEEP_ADMISSION: "rules",
    KEEP_ALLOWED_CODE_HOSTING_ORGS: organizations.join(","),
    KEEP_CODE_HOSTING_URL: fixture.codeHosting.origin,
    KEEP_CODE_HOSTING_API_URL: fixture.codeHosting.apiUrl,
    KEEP_CODE_HOSTING_CLIENT_ID: "keep",
    KEEP_CODE_HOSTING_CLIENT_SECRET: "secret-of-keep",
    KEEP_CODE_HOSTING_MEMBERSHIP_TOKEN_FILE: tokenFile,
  });
  fixture.codeHosting.watchApi(() => process.kill(node.pid, "SIGKILL"));
  await superuser.query("UPDATE membership_check SET due_at = now()");
  expect(await node.exited).toBeNull();
  fixture.codeHosting.watchApi(undefined);
  expect(await checkIfDue()).toBeUndefined();
  await expectPaused([], [gone]);
  const seconds = await secondsUntilDue();
  expect(seconds).toBeGreaterThan(30);
  expect(seconds).toBeLessThanOrEqual(60);
  await superuser.query("UPDATE membership_check SET due_at = due_at - interval '1 minute'");
  expect(await checkIfDue()).toBe("succeeded");
  await expectPaused([gone], []);
  expect(await secondsUntilDue()).toBeGreaterThan(500);
});
