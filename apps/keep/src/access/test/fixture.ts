/**
 * @module
 * The stage of the authorization matrix: an account with one of everything, another account with the same, everybody
 * who may knock, and a request that each route would answer well. Nothing is replaced: what it has was made by the
 * program's own routes, or is a row as the program writes it.
 * Imported by tests only.
 */
import { type Scope, scopes } from "../../authorization/scopes.ts";
import { generateId } from "../../generate-id.ts";
import { hashText, makeSecretText } from "../../sign-in/random-tokens.ts";
import type { TestKeep, TestPerson, TestRequest } from "../../test/start-test-keep.ts";

/** One of everything that a path can name. */
export type Objects = {
  readonly vault: string;
  readonly secret: string;
  readonly version: string;
  readonly token: string;
  readonly session: string;
  readonly identity: string;
  readonly operation: string;
};

export type Side = {
  readonly person: TestPerson;
  readonly displayName: string;
  readonly objects: Objects;
  /** A token of this account that may everything. */
  readonly admin: string;
};

export type AccessFixture = {
  readonly keep: TestKeep;
  readonly own: Side;
  readonly foreign: Side;
};

export const secretPath = "app/key";

export async function makeSide(keep: TestKeep): Promise<Side> {
  const displayName = generateId();
  const person = await keep.addPerson(displayName);
  const { text: admin } = await keep.addToken(person, { scopes });
  const ask = async (path: string, asked: TestRequest): Promise<{ readonly id: string }> => {
    const response = await keep.ask(`/api/secrets${path}`, { token: admin, ...asked });
    const body = await response.text();
    if (!response.ok) throw new Error(`Cannot set the stage: ${path} gave ${response.status} ${body}`);
    // Whatever is made here is answered with its id.
    return JSON.parse(body) as { id: string };
  };
  const vault = (await ask("/vaults", { method: "POST", body: { name: "Project" } })).id;
  const write = (value: string) =>
    ask(`/vaults/${vault}/secrets/by-path/${secretPath}`, { method: "PUT", body: { value } });
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
    },
  };
}

/** Names of things that nobody has. */
export function missingObjects(): Objects {
  const names = ["vault", "secret", "token", "session", "identity", "operation"] as const;
  // Every name above, and the one below.
  return { ...Object.fromEntries(names.map((name) => [name, generateId()])), version: "99" } as Objects;
}

type Session = { readonly id: string; readonly text: string };

/** A person who signed in so long ago. */
export async function addSession(keep: TestKeep, person: TestPerson, ago: string): Promise<Session> {
  const id = generateId();
  const text = makeSecretText();
  await keep.database.inAccount(person.accountId, async (transaction) => {
    await transaction.query({
      text: "INSERT INTO session (account_id, id, session_hash, identity_id, authenticated_at, idle_until, absolute_until, address) VALUES ($1, $2, $3, $4, now() - $5::interval, now() + interval '1 hour', now() + interval '1 day', '127.0.0.1')",
      values: [person.accountId, id, hashText(text), person.identityId, ago],
    });
    await transaction.query({
      text: "INSERT INTO session_route (session_hash, account_id, session_id) VALUES ($1, $2, $3)",
      values: [hashText(text), person.accountId, id],
    });
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
  });
  return id;
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

/** What somebody sends along to say who they are. */
export type Credentials = Readonly<Record<string, string>>;

export type Principal = (stage: AccessFixture) => Promise<Credentials>;

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

/** Those who must all look like nobody. */
export const strangersToAll: Readonly<Record<string, Principal>> = {
  nobody: async () => ({}),
  "garbage token": async () => bearer("sk-svc-nothing"),
  "expired token": tokenOf({ expiresAt: new Date(Date.now() - 60_000) }),
  "revoked token": revokedToken,
  "token from elsewhere": tokenOf({ addresses: ["203.0.113.0/24"] }),
};

export const singleScope = (scope: Scope): Principal => tokenOf({ scopes: [scope] });

/** The columns of the table, after the ones for nobody and for single scopes. */
export const principals: Readonly<Record<string, Principal>> = {
  token: tokenOf({}),
  // Somebody of a third account, to whom all of it is foreign.
  stranger: async ({ keep }) => bearer((await keep.addToken(await keep.addPerson(), { scopes })).text),
  "other vault": async (stage) => tokenOf({ vaultIds: [stage.own.person.vaultId] })(stage),
  "other path": tokenOf({ paths: ["/elsewhere/**"] }),
  person: signedIn("1 minute"),
  "old sign-in": signedIn("1 hour"),
  "other site": signedIn("1 minute", "cross-site"),
  both: async (stage) => ({ ...(await signedIn("1 minute")(stage)), ...bearer(stage.own.admin) }),
};
