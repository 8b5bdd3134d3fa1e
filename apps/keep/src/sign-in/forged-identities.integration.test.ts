import { recordFigure } from "@hearth-and-keep/figures";
import { Client } from "pg";
import { afterAll, beforeAll, expect, test } from "vitest";
import { generateId } from "../generate-id.ts";
import { copyRows } from "../test/copy-rows.ts";
import { createFakeBrowser, type FakeBrowser } from "../test/fake-browser.ts";
import { type KeepWithProviders, startKeepWithProviders } from "../test/start-keep-with-providers.ts";
import { hashText } from "./random-tokens.ts";

let fixture: KeepWithProviders;
let superuser: Client;
let victim: Identity;
let attacker: Identity;
const rejected = new Set<string>();
const needed = 14;

type Identity = { readonly accountId: string; readonly identityId: string };

beforeAll(async () => {
  fixture = await startKeepWithProviders();
  superuser = new Client(fixture.keep.databaseUrl);
  await superuser.connect();
  victim = await readIdentity(await fixture.signIn("general", "101"));
  attacker = await readIdentity(await fixture.signIn("general", "102"));
});
afterAll(async () => {
  await superuser.end();
  await fixture[Symbol.asyncDispose]();
});

async function readIdentity(browser: FakeBrowser): Promise<Identity> {
  const { id: accountId, identities } = await browser.account();
  return { accountId, identityId: identities[0]?.id ?? "" };
}

const accepted = { status: 303, hasSession: true };
const refused = { status: 500, hasSession: false };

/** A complete sign-in at the general provider. */
async function signIn(account: string) {
  const browser = createFakeBrowser(fixture.keep);
  const location = await browser.startSignIn("general");
  return outcomeOf(await browser.followCallback(await fixture.general.signInAs(location, { account })));
}

function outcomeOf(response: Response) {
  const hasSession = response.headers.getSetCookie().some((line) => line.startsWith("session="));
  return { status: response.status, hasSession };
}

/** The victim's account, the victim's identity, the attacker's account and identity, and a new id are $1 to $5. */
const identityAttacks: Readonly<Record<string, readonly string[]>> = {
  "attacker's route to the victim's identity": [
    "UPDATE identity_route SET account_id = $1, identity_id = $2 WHERE identity_id = $4",
  ],
  "attacker's route to the victim's account": [
    "UPDATE identity_route SET account_id = $1 WHERE identity_id = $4",
  ],
  "attacker's identity moved to the victim's account": [
    "UPDATE identity_route SET account_id = $1 WHERE identity_id = $4",
    "UPDATE identity SET account_id = $1 WHERE id = $4",
  ],
  "identity inserted into the victim's account": [
    "INSERT INTO identity (account_id, id, provider, issuer, subject) SELECT $1, $5, provider, issuer, subject FROM identity WHERE id = $4",
    "UPDATE identity_route SET account_id = $1, identity_id = $5 WHERE identity_id = $4",
  ],
  "identity inserted with the MAC of the victim's": [
    "INSERT INTO identity (account_id, id, provider, issuer, subject, mac) SELECT $1, $5, provider, issuer, subject, (SELECT mac FROM identity WHERE id = $2) FROM identity WHERE id = $4",
    "UPDATE identity_route SET account_id = $1, identity_id = $5 WHERE identity_id = $4",
  ],
  "identity inserted with the MAC of the attacker's": [
    "INSERT INTO identity (account_id, id, provider, issuer, subject, mac) SELECT $1, $5, provider, issuer, subject, mac FROM identity WHERE id = $4",
    "UPDATE identity_route SET account_id = $1, identity_id = $5 WHERE identity_id = $4",
  ],
  "attacker's identity under another id, which unlinking it would not delete": [
    "INSERT INTO identity (account_id, id, provider, issuer, subject, mac) SELECT account_id, $5, provider, issuer, subject, mac FROM identity WHERE id = $4",
    "UPDATE identity_route SET identity_id = $5 WHERE identity_id = $4",
  ],
  "victim's identity with the attacker's subject": [
    "UPDATE identity SET subject = (SELECT subject FROM identity WHERE id = $4) WHERE id = $2",
    "UPDATE identity_route SET account_id = $1, identity_id = $2 WHERE identity_id = $4",
  ],
};

async function runAll(statements: readonly string[]): Promise<void> {
  const all = "$1::uuid, $2::uuid, $3::uuid, $4::uuid, $5::uuid";
  const values = [victim.accountId, victim.identityId, attacker.accountId, attacker.identityId, generateId()];
  // Every statement gets all values; PostgreSQL requires that each has a type.
  for (const text of statements) await superuser.query(`WITH unused AS (SELECT ${all}) ${text}`, values);
}

/** Of all accounts, to undo an attack. */
const copyIdentities = () =>
  copyRows(
    superuser,
    ["identity", "identity_route"].map((table) => ({
      table,
      column: "issuer",
      value: fixture.general.issuer,
    })),
  );

test.each(Object.entries(identityAttacks))(
  "%s: the attacker cannot sign in with it",
  async (kind, statements) => {
    const copies = await copyIdentities();
    expect(await signIn("102")).toEqual(accepted);
    await runAll(statements);
    expect(await signIn("102")).toEqual(refused);
    await copies.putBack();
    expect([await signIn("102"), await signIn("101")]).toEqual([accepted, accepted]);
    rejected.add(kind);
  },
);

test("the victim is not led into the attacker's account", async () => {
  const copies = await copyIdentities();
  await runAll(["UPDATE identity_route SET account_id = $3, identity_id = $4 WHERE identity_id = $2"]);
  expect(await signIn("101")).toEqual(refused);
  await copies.putBack();
  expect(await signIn("101")).toEqual(accepted);
  rejected.add("victim's route to the attacker's identity");
});

test("an identity that was unlinked cannot sign in when it is put back, and a forged one is not the last one", async () => {
  fixture.general.putAccount({ subject: "701", email: "seven@example.com", isEmailVerified: true });
  fixture.codeHosting.putAccount({ id: 702, login: "seven", name: null, emails: [] });
  const browser = await fixture.signIn("general", "701");
  const started = await browser.request("/auth/link/code-hosting", { method: "POST" });
  const location = started.headers.get("location") ?? "";
  await browser.followCallback(await fixture.codeHosting.signInAs(location, { account: "seven" }));
  const linked = await fixture.signIn("code-hosting", "seven");
  const [first, second] = (await linked.account()).identities;
  const copies = await copyRows(superuser, [
    { table: "identity", column: "id", value: second?.id ?? "" },
    { table: "identity_route", column: "identity_id", value: second?.id ?? "" },
    { table: "session", column: "identity_id", value: second?.id ?? "" },
    { table: "session_route", column: "session_id", value: (await linked.session()).id },
  ]);
  await copies.putBack();
  expect(await linked.isSignedIn()).toBe(true);
  const unlink = (id: string | undefined) =>
    browser.request(`/api/account/identities/${id}`, { method: "DELETE" });
  expect((await unlink(second?.id)).status).toBe(204);
  await copies.putBack();
  const again = createFakeBrowser(fixture.keep);
  const callback = await fixture.codeHosting.signInAs(await again.startSignIn("code-hosting"), {
    account: "seven",
  });
  expect(outcomeOf(await again.followCallback(callback))).toEqual(refused);
  expect(await linked.isSignedIn()).toBe(false);
  rejected.add("unlinked identity put back").add("session of an unlinked identity put back");
  // The identity that was put back cannot sign in, so the first one is the last that can.
  const other = await fixture.signIn("general", "701");
  const conflict = await other.request(`/api/account/identities/${first?.id}`, { method: "DELETE" });
  expect(conflict.status).toBe(409);
});

type AttemptAttack = (edit: (location: URL, assignments: string) => Promise<void>) => Promise<Response>;

async function startLink(browser: FakeBrowser): Promise<URL> {
  const response = await browser.request("/auth/link/general", { method: "POST" });
  return new URL(response.headers.get("location") ?? "");
}

const authenticate = (location: URL, account: string) => fixture.general.signInAs(location, { account });

/** A person who has no account yet. */
function addPerson(): string {
  const subject = generateId();
  fixture.general.putAccount({ subject, email: `${subject}@example.com`, isEmailVerified: true });
  return subject;
}

const attemptAttacks: Readonly<Record<string, AttemptAttack>> = {
  "sign-in becomes a link to the victim's account": async (edit) => {
    const browser = await fixture.signIn("general", "101");
    const { id, account } = await browser.session();
    const location = await browser.startSignIn("general");
    await edit(location, `purpose = 'link', account_id = '${account.id}', session_id = '${id}'`);
    return browser.followCallback(await authenticate(location, addPerson()));
  },
  "link becomes a sign-in": async (edit) => {
    const browser = await fixture.signIn("general", "101");
    const location = await startLink(browser);
    await edit(location, "purpose = 'sign-in', account_id = NULL, session_id = NULL");
    return browser.followCallback(await authenticate(location, addPerson()));
  },
  "link of the attacker is given to the victim's session": async (edit) => {
    const own = await fixture.signIn("general", "102");
    const target = await fixture.signIn("general", "101");
    const { id, account } = await target.session();
    const location = await startLink(own);
    const isEdited = await hasEdited(
      () => edit(location, `account_id = '${account.id}', session_id = '${id}'`),
      location,
    );
    target.cookies.set("login", own.cookies.get("login") ?? "");
    return (isEdited ? target : own).followCallback(await authenticate(location, addPerson()));
  },
  "sign-in of the attacker is given to the victim's browser": async (edit) => {
    const own = createFakeBrowser(fixture.keep);
    const target = createFakeBrowser(fixture.keep);
    await target.startSignIn("general");
    const binder = hashText(target.cookies.get("login") ?? "").toString("hex");
    const location = await own.startSignIn("general");
    const isEdited = await hasEdited(() => edit(location, `binder_hash = '\\x${binder}'`), location);
    return (isEdited ? target : own).followCallback(await authenticate(location, "102"));
  },
  "sign-in returns to another site": async (edit) => {
    const browser = createFakeBrowser(fixture.keep);
    const location = await browser.startSignIn("general");
    await edit(location, "return_to = 'https://elsewhere.example/'");
    return browser.followCallback(await authenticate(location, "101"));
  },
  "sign-in with the secrets of another": async (edit) => {
    const browser = createFakeBrowser(fixture.keep);
    const location = await browser.startSignIn("general");
    const other = await createFakeBrowser(fixture.keep).startSignIn("general");
    await edit(
      location,
      `sealed = (SELECT sealed FROM sign_in_attempt WHERE state_hash = '${stateHash(other)}')`,
    );
    return browser.followCallback(await authenticate(location, "101"));
  },
};

function stateHash(location: URL): string {
  return `\\x${hashText(location.searchParams.get("state") ?? "").toString("hex")}`;
}

async function readAttempt(location: URL): Promise<string> {
  const { rows } = await superuser.query<{ attempt: string }>(
    "SELECT to_json(sign_in_attempt)::text AS attempt FROM sign_in_attempt WHERE state_hash = $1",
    [stateHash(location)],
  );
  return rows[0]?.attempt ?? "";
}

/** Whether the work has changed the attempt; it does not in the counterpart without an attack. */
async function hasEdited(work: () => Promise<void>, location: URL): Promise<boolean> {
  const before = await readAttempt(location);
  await work();
  return (await readAttempt(location)) !== before;
}

async function countIdentities(): Promise<number> {
  const { rows } = await superuser.query<{ count: number }>("SELECT count(*)::int AS count FROM identity");
  return rows[0]?.count ?? 0;
}

test.each(Object.entries(attemptAttacks))(
  "%s in the database: refused, and accepted without the change",
  async (kind, attack) => {
    const before = await countIdentities();
    const edited = await attack(async (location, assignments) => {
      const { rowCount } = await superuser.query(
        `UPDATE sign_in_attempt SET ${assignments} WHERE state_hash = $1`,
        [stateHash(location)],
      );
      expect(rowCount).toBe(1);
    });
    expect(outcomeOf(edited)).toEqual(refused);
    expect(await countIdentities()).toBe(before);
    const untouched = await attack(async () => undefined);
    expect(untouched.status).toBe(303);
    rejected.add(kind);
  },
);

test("at least fourteen kinds of changes to identities, their routes and sign-in attempts were rejected", () => {
  expect(rejected.size).toBeGreaterThanOrEqual(needed);
  recordFigure({
    claim: "keep 6",
    text: `${rejected.size} kinds of changes to the rows of identities and sign-in attempts: rejected, the untouched rows accepted`,
    counted: { reached: rejected.size, needed },
  });
});
