/**
 * @module
 * Fixture of the authorization matrix: two accounts with one object of each kind, all principals, and a valid request
 * for each route. Nothing is mocked: objects are created through the API or inserted as Keep writes them.
 * Imported by tests only.
 */
import { fullGrant } from "../../authorization/grant.ts";
import { type Scope, scopes } from "../../authorization/scopes.ts";
import { generateId } from "../../generate-id.ts";
import { signAllRows } from "../../keys/row-integrity/account-epoch.ts";
import { addMember } from "../../organisations/add-member.ts";
import { createInvitation } from "../../organisations/create-invitation.ts";
import { createOrganisation } from "../../organisations/create-organisation.ts";
import { addTeamMember, createTeam } from "../../organisations/teams/change-teams.ts";
import { proposeChange } from "../../secrets/approvals/propose-change.ts";
import { generateRandomToken, hashText } from "../../sign-in/random-tokens.ts";
import type { TestKeep, TestPerson, TestRequest } from "../../test/start-test-keep.ts";

/** One object of each kind that a path can name. */
export type Objects = {
  readonly vault: string;
  readonly secret: string;
  readonly version: string;
  readonly token: string;
  readonly session: string;
  readonly identity: string;
  readonly operation: string;
  readonly account: string;
  /** Of which the account is an owner, with another one and an invitation. */
  readonly organisation: string;
  readonly person: string;
  readonly invitation: string;
  /** Which the person is in. */
  readonly team: string;
  readonly organisationToken: string;
  readonly organisationRule: string;
  /** The vault is the account's own, which cannot be shared, so there is none. */
  readonly grant: string;
  readonly rule: string;
  /** Proposed by somebody else. */
  readonly change: string;
};

export type TestAccount = {
  readonly person: TestPerson;
  readonly displayName: string;
  readonly objects: Objects;
  /** A token of this account with every scope. */
  readonly admin: string;
};

export type AccessFixture = {
  readonly keep: TestKeep;
  readonly own: TestAccount;
  readonly foreign: TestAccount;
};

export const secretPath = "app/key";

export async function createTestAccount(keep: TestKeep): Promise<TestAccount> {
  const displayName = generateId();
  const person = await keep.addPerson(displayName);
  const { text: admin } = await keep.addToken(person, { scopes });
  const request = async (path: string, options: TestRequest): Promise<{ readonly id: string }> => {
    const response = await keep.request(`/api/secrets${path}`, { token: admin, ...options });
    const body = await response.text();
    if (!response.ok)
      throw new Error(`Cannot create the fixture: ${path} returned ${response.status} ${body}`);
    // All of these responses contain an id.
    return JSON.parse(body) as { id: string };
  };
  const vault = (await request("/vaults", { method: "POST", body: { name: "Project" } })).id;
  const write = (value: string) =>
    request(`/vaults/${vault}/secrets/by-path/${secretPath}`, { method: "PUT", body: { value } });
  await write("first");
  const secret = (await write("second")).id;
  return {
    person,
    displayName,
    admin,
    objects: {
      vault,
      secret,
      version: "1",
      token: (await keep.addToken(person, { scopes: ["vaults:read"] })).id,
      session: (await addSession(keep, person, "1 minute")).id,
      identity: await addIdentity(keep, person),
      operation: await addOperation(keep, person, vault),
      account: person.accountId,
      ...(await addOrganisation(keep, person, displayName)),
      grant: generateId(),
      rule: await addTrustRule(keep, person),
      change: await addChange(keep, person, vault),
    },
  };
}

async function addOrganisation(
  keep: TestKeep,
  { accountId }: TestPerson,
  name: string,
): Promise<
  Pick<Objects, "organisation" | "person" | "invitation" | "team" | "organisationToken" | "organisationRule">
> {
  const { accountId: personId } = await keep.addPerson();
  const by = { accountId, kind: "session", id: accountId, address: "127.0.0.1", grant: fullGrant } as const;
  const { id: organisation } = await createOrganisation(by, name, keep.services);
  const actor = { ...by, accountId: organisation, personId: accountId };
  const created = await keep.database.inAccount(organisation, async (transaction) => {
    const member = { accountId: organisation, personId, role: "owner", by: actor } as const;
    await addMember(transaction, member, keep.services);
    const { id: team } = await createTeam(
      transaction,
      { actor, name: "Developers", externalGroup: null },
      keep.services,
    );
    await addTeamMember(transaction, { actor, teamId: team, personId }, keep.services);
    const spec = { role: "member", identity: null } as const;
    const { invitation } = await createInvitation(transaction, { actor, spec }, keep.services);
    return { team, invitation: invitation.id };
  });
  const token = await keep.addToken({ accountId: organisation }, { scopes: ["vaults:read"] });
  const organisationRule = await addTrustRule(keep, { accountId: organisation });
  return { organisation, person: personId, ...created, organisationToken: token.id, organisationRule };
}

/** Ids that do not exist. */
export function missingObjects(): Objects {
  const names = ["vault", "secret", "token", "session", "identity", "operation", "account"].concat([
    "organisation",
    "person",
    "invitation",
    "team",
    "organisationToken",
    "grant",
    "rule",
    "organisationRule",
    "change",
  ]);
  // The names above and `version` are all members of Objects.
  return { ...Object.fromEntries(names.map((name) => [name, generateId()])), version: "99" } as Objects;
}

type Session = { readonly id: string; readonly text: string };

/** A session whose sign-in was this long ago. */
export async function addSession(keep: TestKeep, person: TestPerson, ago: string): Promise<Session> {
  const id = generateId();
  const text = generateRandomToken();
  await keep.database.inAccount(person.accountId, async (transaction) => {
    await transaction.query({
      text: "INSERT INTO session (account_id, id, session_hash, identity_id, authenticated_at, idle_until, absolute_until, address) VALUES ($1, $2, $3, $4, now() - $5::interval, now() + interval '1 hour', now() + interval '1 day', '127.0.0.1')",
      values: [person.accountId, id, hashText(text), person.identityId, ago],
    });
    await transaction.query({
      text: "INSERT INTO session_route (session_hash, account_id, session_id) VALUES ($1, $2, $3)",
      values: [hashText(text), person.accountId, id],
    });
    await signAllRows(transaction, person.accountId, keep.services.serverKeys.rowMacs);
  });
  return { id, text };
}

async function addIdentity(keep: TestKeep, { accountId }: TestPerson): Promise<string> {
  const id = generateId();
  await keep.database.inAccount(accountId, async (transaction) => {
    const values = [accountId, id, "https://second.test", id];
    await transaction.query({
      text: "INSERT INTO identity (account_id, id, provider, issuer, subject) VALUES ($1, $2, 'code-hosting', $3, $4)",
      values,
    });
    await transaction.query({
      text: "INSERT INTO identity_route (account_id, identity_id, issuer, subject) VALUES ($1, $2, $3, $4)",
      values,
    });
    await signAllRows(transaction, accountId, keep.services.serverKeys.rowMacs);
  });
  return id;
}

async function addTrustRule(keep: TestKeep, { accountId }: Pick<TestPerson, "accountId">): Promise<string> {
  const id = generateId();
  await keep.database.inAccount(accountId, async (transaction) => {
    await transaction.query({
      text: "INSERT INTO trust_rule (id, account_id, name, provider, issuer, conditions, scopes, lifetime_seconds, created_by) VALUES ($1, $2, 'Deploy', 'generic', 'https://issuer.test', $3, '{vaults:read}', 900, 'test')",
      values: [id, accountId, JSON.stringify([{ claim: "sub", values: ["deploy"] }])],
    });
    await signAllRows(transaction, accountId, keep.services.serverKeys.rowMacs);
  });
  return id;
}

/** Only the vault of an organisation has one, so the account is called one for a moment. */
async function addChange(keep: TestKeep, { accountId }: TestPerson, vaultId: string): Promise<string> {
  const setKind = (kind: string) =>
    keep.database.inAccount(accountId, (transaction) =>
      transaction.query({
        text: "UPDATE account SET kind = $2 WHERE account_id = $1",
        values: [accountId, kind],
      }),
    );
  const [id, personId] = [generateId(), generateId()];
  const actor = { accountId, kind: "session", id, personId, address: "127.0.0.1", grant: fullGrant } as const;
  await setKind("organisation");
  const { result } = await proposeChange(
    { actor, vaultId, idempotencyKey: undefined, reason: "Example" },
    { operations: [{ op: "put", path: `/${secretPath}`, value: "third" }], settings: {}, vaultAction: null },
    keep.services,
  );
  await setKind("person");
  return result;
}

async function addOperation(keep: TestKeep, { accountId }: TestPerson, vaultId: string): Promise<string> {
  const id = generateId();
  await keep.database.inAccount(accountId, (transaction) =>
    transaction.query({
      text: "INSERT INTO operation (account_id, id, kind, vault_id, state) VALUES ($1, $2, 'rotate-data-key', $3, 'done')",
      values: [accountId, id, vaultId],
    }),
  );
  return id;
}

/** Headers that authenticate a request. */
export type Credentials = Readonly<Record<string, string>>;

export type Principal = (fixture: AccessFixture) => Promise<Credentials>;

const bearer = (text: string): Credentials => ({ authorization: `Bearer ${text}` });
const cookie = (text: string, site = "same-origin"): Credentials => ({
  cookie: `session=${text}`,
  "sec-fetch-site": site,
});

const tokenOf =
  (grant: Partial<Parameters<TestKeep["addToken"]>[1]>): Principal =>
  async ({ keep, own }) =>
    bearer((await keep.addToken(own.person, { scopes, ...grant })).text);

async function revokedToken({ keep, own }: AccessFixture): Promise<Credentials> {
  const { id, text } = await keep.addToken(own.person, { scopes });
  await keep.database.inAccount(own.person.accountId, (transaction) =>
    transaction.query({
      text: "UPDATE api_token SET revoked_at = now(), revoke_reason = 'asked' WHERE account_id = $1 AND id = $2",
      values: [own.person.accountId, id],
    }),
  );
  return bearer(text);
}

const signedIn =
  (ago: string, site?: string): Principal =>
  async ({ keep, own }) =>
    cookie((await addSession(keep, own.person, ago)).text, site);

/** Principals without a valid credential, which must all get the same responses. */
export const invalidPrincipals: Readonly<Record<string, Principal>> = {
  nobody: async () => ({}),
  "garbage token": async () => bearer("sk-svc-nothing"),
  "expired token": tokenOf({ expiresAt: new Date(Date.now() - 60_000) }),
  "revoked token": revokedToken,
  "token from elsewhere": tokenOf({ addresses: ["203.0.113.0/24"] }),
};

export const singleScope = (scope: Scope): Principal => tokenOf({ scopes: [scope] });

/** The table's columns after "no credential" and "scopes". */
export const principals: Readonly<Record<string, Principal>> = {
  token: tokenOf({}),
  // A third account, to which all objects are foreign.
  stranger: async ({ keep }) => bearer((await keep.addToken(await keep.addPerson(), { scopes })).text),
  "other vault": async (fixture) => tokenOf({ vaultIds: [fixture.own.person.vaultId] })(fixture),
  "other path": tokenOf({ paths: ["/elsewhere/**"] }),
  person: signedIn("1 minute"),
  "old sign-in": signedIn("1 hour"),
  "other site": signedIn("1 minute", "cross-site"),
  both: async (fixture) => ({ ...(await signedIn("1 minute")(fixture)), ...bearer(fixture.own.admin) }),
};
