import { recordFigure } from "@hearth-and-keep/figures";
import { Client } from "pg";
import { afterAll, beforeAll, expect, test } from "vitest";
import { generateId } from "../generate-id.ts";
import { changeSessions } from "../test/change-sessions.ts";
import { copyRows } from "../test/copy-rows.ts";
import { createFakeBrowser, type FakeBrowser } from "../test/fake-browser.ts";
import { type KeepWithProviders, startKeepWithProviders } from "../test/start-keep-with-providers.ts";
import { generateRandomToken, hashText } from "./random-tokens.ts";

let fixture: KeepWithProviders;
let superuser: Client;
let victim: SignedIn;
let attacker: SignedIn;
const rejected = new Set<string>();
const needed = 20;

type SignedIn = {
  readonly browser: FakeBrowser;
  readonly accountId: string;
  readonly id: string;
  /** The cookie's value. */
  readonly text: string;
};

beforeAll(async () => {
  fixture = await startKeepWithProviders();
  superuser = new Client(fixture.keep.databaseUrl);
  await superuser.connect();
  victim = await signIn("101");
  attacker = await signIn("102");
});
afterAll(async () => {
  await superuser.end();
  await fixture[Symbol.asyncDispose]();
});

async function signIn(account: string): Promise<SignedIn> {
  const browser = await fixture.signIn("general", account);
  const session = await browser.session();
  return {
    browser,
    accountId: session.account.id,
    id: session.id,
    text: browser.cookies.get("session") ?? "",
  };
}

async function statusOf(text: string): Promise<number> {
  const response = await createFakeBrowser(fixture.keep).request("/api/session", {
    cookie: `session=${text}`,
  });
  return response.status;
}

/** Counts the kind of change, once the session it was for is rejected and the untouched ones are accepted. */
async function expectRejected(kind: string, text: string): Promise<void> {
  expect(await statusOf(text)).toBe(401);
  expect(await statusOf(victim.text)).toBe(200);
  rejected.add(kind);
}

const copyOf = ({ id, text }: Pick<SignedIn, "id" | "text">) =>
  copyRows(superuser, [
    { table: "session", column: "id", value: id },
    { table: "session_route", column: "session_hash", value: `\\x${hashText(text).toString("hex")}` },
  ]);

test.each([
  ["gets a later end", "absolute_until = absolute_until + interval '1 day'"],
  ["gets a later sign-in", "authenticated_at = now() + interval '1 hour'"],
  ["gets another identity", "identity_id = gen_random_uuid()"],
  ["loses its MAC", "mac = NULL"],
  ["gets the MAC of another session", "mac = (SELECT mac FROM session WHERE id = $2)"],
])("a session that %s in the database is not accepted", async (kind, assignment) => {
  const { id, text } = await signIn("101");
  expect(await statusOf(text)).toBe(200);
  await superuser.query(`UPDATE session SET ${assignment} WHERE id = $1 AND $2 <> $1`, [id, victim.id]);
  await expectRejected(kind, text);
});

test("use of a session needs no new MAC", async () => {
  const { id, text } = await signIn("101");
  await superuser.query(
    "UPDATE session SET last_seen_at = now() - interval '2 minutes', idle_until = now() + interval '1 minute', address = '::1', user_agent = 'other' WHERE id = $1",
    [id],
  );
  expect(await statusOf(text)).toBe(200);
});

test("an old sign-in does not become a fresh one in the database", async () => {
  const { browser, accountId, id, text } = await signIn("101");
  const link = async () => (await browser.request("/auth/link/code-hosting", { method: "POST" })).status;
  await changeSessions(fixture.keep, accountId, "authenticated_at = now() - interval '1 hour'");
  expect([await statusOf(text), await link()]).toEqual([200, 403]);
  await superuser.query("UPDATE session SET authenticated_at = now() WHERE id = $1", [id]);
  expect(await link()).toBe(401);
  await expectRejected("old sign-in made fresh", text);
  await changeSessions(fixture.keep, accountId, "authenticated_at = now()");
  expect(await link()).toBe(303);
});

/** Inserts a session of the victim whose value the attacker knows. */
async function insertForged(): Promise<{ readonly id: string; readonly text: string }> {
  const [id, text] = [generateId(), generateRandomToken()];
  await superuser.query(
    "INSERT INTO session SELECT forged.* FROM session, LATERAL json_populate_record(session, json_build_object('id', $2::text, 'session_hash', $3::text, 'mac', NULL)) AS forged WHERE session.id = $1",
    [victim.id, id, `\\x${hashText(text).toString("hex")}`],
  );
  await superuser.query(
    "INSERT INTO session_route (session_hash, account_id, session_id) VALUES ($1, $2, $3)",
    [hashText(text), victim.accountId, id],
  );
  return { id, text };
}

test("a session that was inserted into the database is not accepted", async () => {
  const { id, text } = await insertForged();
  expect(id).not.toBe(victim.id);
  await expectRejected("inserted", text);
  await superuser.query("UPDATE session SET mac = (SELECT mac FROM session WHERE id = $2) WHERE id = $1", [
    id,
    victim.id,
  ]);
  await expectRejected("inserted with the MAC of a genuine session", text);
  await superuser.query("UPDATE session SET mac = (SELECT mac FROM session WHERE id = $2) WHERE id = $1", [
    id,
    attacker.id,
  ]);
  await expectRejected("inserted with the MAC of the attacker's session", text);
  // Ending another session signs the rest again, but not this one.
  const other = await signIn("101");
  await other.browser.request("/auth/logout", { method: "POST" });
  await expectRejected("inserted before others are signed again", text);
});

test("a session of another account does not become one of the victim", async () => {
  const own = await signIn("102");
  const copies = await copyOf(own);
  const hash = hashText(own.text);
  const attacks: Readonly<Record<string, readonly string[]>> = {
    "route to the victim's session": [
      "UPDATE session_route SET account_id = $2, session_id = $3 WHERE session_hash = $1",
    ],
    "route to the victim's account": [
      "UPDATE session_route SET account_id = $2 WHERE session_hash = $1 AND $3::uuid IS NOT NULL",
    ],
    "row and route moved to the victim": [
      "UPDATE session_route SET account_id = $2 WHERE session_hash = $1 AND $3::uuid IS NOT NULL",
      "UPDATE session SET account_id = $2 WHERE session_hash = $1 AND $3::uuid IS NOT NULL",
    ],
    "victim's row with the attacker's hash": [
      "UPDATE session_route SET account_id = $2, session_id = $3 WHERE session_hash = $1",
      "UPDATE session SET session_hash = $1 WHERE account_id = $2 AND id = $3",
    ],
  };
  for (const [kind, statements] of Object.entries(attacks)) {
    const target = await signIn("101");
    expect(await statusOf(own.text)).toBe(200);
    for (const text of statements) await superuser.query(text, [hash, target.accountId, target.id]);
    await expectRejected(kind, own.text);
    await superuser.query("DELETE FROM session WHERE id = ANY ($1)", [[target.id, own.id]]);
    await copies.putBack();
  }
  expect(await statusOf(own.text)).toBe(200);
});

test("a copy of a session under another id, which revoking it would not end, is not accepted", async () => {
  const { id, text } = await signIn("101");
  const copyId = generateId();
  await superuser.query(
    "INSERT INTO session SELECT copy.* FROM session, LATERAL json_populate_record(session, json_build_object('id', $2::text)) AS copy WHERE session.id = $1",
    [id, copyId],
  );
  const routeTo = (target: string) =>
    superuser.query("UPDATE session_route SET session_id = $2 WHERE session_hash = $1", [
      hashText(text),
      target,
    ]);
  await routeTo(copyId);
  await expectRejected("copied under another id", text);
  await routeTo(id);
  expect(await statusOf(text)).toBe(200);
});

test("two sessions of an account do not swap their values", async () => {
  const [first, second] = [await signIn("101"), await signIn("101")];
  const swap = () =>
    superuser.query(
      "WITH swapped AS (UPDATE session SET session_hash = CASE WHEN id = $1 THEN $4::bytea ELSE $3::bytea END WHERE id IN ($1, $2)) UPDATE session_route SET session_id = CASE WHEN session_hash = $3 THEN $2::uuid ELSE $1::uuid END WHERE session_hash IN ($3, $4)",
      [first.id, second.id, hashText(first.text), hashText(second.text)],
    );
  await swap();
  await expectRejected("values swapped", first.text);
  expect(await statusOf(second.text)).toBe(401);
});

const revocations: Readonly<Record<string, (session: SignedIn) => Promise<Response>>> = {
  "signed out": ({ browser }) =>
    browser.request("/auth/logout", { method: "POST", headers: { accept: "application/json" } }),
  "revoked by id": ({ id }) => victim.browser.request(`/api/account/sessions/${id}`, { method: "DELETE" }),
  "revoked with all others": () => victim.browser.request("/api/account/sessions", { method: "DELETE" }),
  "replaced by a new sign-in": async ({ browser }) => {
    const started = await browser.request("/auth/confirm/general", { method: "POST" });
    const location = started.headers.get("location") ?? "";
    return browser.followCallback(await fixture.general.signInAs(location, { account: "101" }));
  },
};

test.each(Object.entries(revocations))(
  "a session that was %s is not accepted when it is put back",
  async (kind, revoke) => {
    const session = await signIn("101");
    const copies = await copyOf(session);
    await copies.putBack();
    expect(await statusOf(session.text)).toBe(200);
    expect([204, 303]).toContain((await revoke(session)).status);
    expect(await statusOf(session.text)).toBe(401);
    await superuser.query("UPDATE session SET ended_at = NULL WHERE id = $1", [session.id]);
    await superuser.query(
      "INSERT INTO session_route (session_hash, account_id, session_id) VALUES ($1, $2, $3)",
      [hashText(session.text), session.accountId, session.id],
    );
    await expectRejected(`${kind}, then not ended any more`, session.text);
    await copies.putBack();
    await expectRejected(`${kind}, then put back`, session.text);
  },
);

test("an account with an earlier epoch or another status is not accepted", async () => {
  const { accountId, id, text } = await signIn("101");
  const copies = await copyOf({ id, text });
  await victim.browser.request(`/api/account/sessions/${id}`, { method: "DELETE" });
  await copies.putBack();
  await superuser.query("UPDATE account SET epoch = epoch - 1 WHERE account_id = $1", [accountId]);
  expect([await statusOf(text), await statusOf(victim.text)]).toEqual([401, 401]);
  await superuser.query("UPDATE account SET epoch = epoch + 1 WHERE account_id = $1", [accountId]);
  await expectRejected("epoch put back", text);
});

/** Runs the attacker's SQL within the transaction that ends a session, as Keep's own role. */
async function withTrigger(statement: string, work: () => Promise<void>): Promise<void> {
  await superuser.query(
    `CREATE FUNCTION attack() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN ${statement}; RETURN NULL; END $$`,
  );
  await superuser.query(
    "CREATE TRIGGER attack AFTER UPDATE OF ended_at ON session FOR EACH ROW WHEN (NEW.ended_at IS NOT NULL) EXECUTE FUNCTION attack()",
  );
  try {
    await work();
  } finally {
    await superuser.query("DROP FUNCTION attack CASCADE");
  }
}

test("a trigger in the database does not get changed or revoked sessions signed again", async () => {
  const [target, revoked] = [await signIn("101"), await signIn("101")];
  const text = generateRandomToken();
  const hash = `'\\x${hashText(text).toString("hex")}'::bytea`;
  const path = `/api/account/sessions/${revoked.id}`;
  const revoke = async () => {
    expect((await victim.browser.request(path, { method: "DELETE" })).status).toBe(204);
  };
  const change = `UPDATE session SET session_hash = ${hash} WHERE id = '${target.id}'; UPDATE session SET ended_at = NULL WHERE id = NEW.id`;
  await withTrigger(change, revoke);
  const routes: readonly (readonly [string, string])[] = [
    [text, target.id],
    [revoked.text, revoked.id],
  ];
  for (const [value, id] of routes)
    await superuser.query(
      "INSERT INTO session_route (session_hash, account_id, session_id) VALUES ($1, $2, $3)",
      [hashText(value), victim.accountId, id],
    );
  await expectRejected("changed by a trigger during a revocation", text);
  await expectRejected("revived by a trigger during its revocation", revoked.text);
});

test("at least twenty kinds of changes to sessions and their routes were rejected", () => {
  expect(rejected.size).toBeGreaterThanOrEqual(needed);
  recordFigure({
    claim: "keep 6",
    text: `${rejected.size} kinds of changes to the rows of sessions: rejected, the untouched sessions accepted`,
    counted: { reached: rejected.size, needed },
  });
});
