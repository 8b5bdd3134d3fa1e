import { expect } from "vitest";
import { findOrCreateAccount } from "../../accounts/find-or-create-account.ts";
import type { Person } from "../../accounts/person.ts";
import { generateId } from "../../generate-id.ts";
import { generateRandomToken, hashText } from "../../sign-in/random-tokens.ts";
import { startSession } from "../../sign-in/sessions.ts";
import { everyScope } from "../../test/open-vault.ts";
import { readJson } from "../../test/read-json.ts";
import type { TestKeep, TestRequest } from "../../test/start-test-keep.ts";
import { generateToken, hashToken } from "../../tokens/token-format.ts";

/** A credential, and how its rows are found. */
type Credential = { readonly id: string; readonly text: string };

type Party = {
  readonly person: Person;
  readonly account: string;
  readonly identity: string;
  readonly vault: string;
  readonly token: Credential;
  readonly session: Credential;
  /** Of the secret at /app/KEY. */
  readonly secret: string;
};

/** What an attacker with full access to the database works with. */
export type Attacked = {
  readonly victim: Party & {
    /** Created through the API, so that the log knows it. */
    readonly logged: Credential;
    readonly limited: Credential;
    readonly bound: Credential;
    readonly expired: Credential;
    readonly revoked: Credential;
    readonly rotated: Credential;
    readonly ended: Credential;
    readonly otherSecret: string;
    readonly deletedSecret: string;
    readonly project: string;
    readonly projectSecret: string;
    readonly deletedVault: string;
  };
  readonly attacker: Party;
  /** Values that the attacker knows and Keep never issued. */
  readonly forged: { readonly token: string; readonly session: string };
  /** Hexadecimal. */
  readonly hashes: { readonly token: string; readonly session: string };
};

/** The values that were stored last, by path. */
export const values = {
  victim: { "/app/KEY": "current value of the victim", "/app/OTHER": "other value of the victim" },
  earlier: { "/app/KEY": "earlier value of the victim" },
  deleted: { "/app/GONE": "deleted value of the victim" },
  project: { "/app/KEY": "project value of the victim" },
  deletedVault: { "/app/KEY": "value of the deleted vault" },
  attacker: { "/app/KEY": "value of the attacker" },
} as const;

const browserHeaders = { accept: "application/json", "sec-fetch-site": "same-origin" };

export function asSession(text: string): Pick<TestRequest, "headers"> {
  return { headers: { ...browserHeaders, cookie: `session=${text}` } };
}

async function send<Body>(keep: TestKeep, path: string, request: TestRequest): Promise<Body> {
  const response = await keep.request(`/api/secrets/${path}`, request);
  expect([path, response.status < 300]).toEqual([path, true]);
  return response.status === 204 ? readJson<Body>(new Response("{}")) : readJson<Body>(response);
}

/** Throws unless the account's identity is of this person. */
export async function signIn(
  { services }: Pick<TestKeep, "services">,
  person: Person,
): Promise<Credential & { readonly account: string; readonly identity: string }> {
  const { accountId, identityId } = await findOrCreateAccount(person, services);
  const client = { address: "127.0.0.1", userAgent: undefined };
  const limits = { idleMinutes: 60, lifetimeHours: 12 };
  const started = await services.database.inAccount(accountId, (transaction) =>
    startSession(transaction, { accountId, identityId, person, client }, { ...services, limits }),
  );
  if (typeof started === "string") throw new Error(`Cannot sign in: ${started}`);
  return { account: accountId, identity: identityId, id: started.id, text: started.token };
}

async function write(
  keep: TestKeep,
  token: string,
  [path, value]: readonly [string, string],
): Promise<string> {
  const body = { value, note: `about ${path}`, tags: ["tag"] };
  return (await send<{ id: string }>(keep, path, { method: "PUT", token, body })).id;
}

async function addParty(keep: TestKeep, subject: string, value: string): Promise<Party> {
  const person: Person = {
    provider: "general",
    issuer: "https://issuer.test",
    subject,
    displayName: subject,
  };
  const { accountId: account, identityId: identity, vaultId: vault } = await keep.addPerson(subject);
  const token = await keep.addToken({ accountId: account }, { scopes: everyScope });
  const { id, text } = await signIn(keep, person);
  const at = `vaults/${vault}/secrets/by-path/app/KEY`;
  const secret = await write(keep, token.text, [at, value]);
  return { person, account, identity, vault, token, session: { id, text }, secret };
}

/** Two persons with secrets and every kind of credential. */
export async function createAttacked(keep: TestKeep, number: number): Promise<Attacked> {
  const victim = await addParty(keep, `victim ${number}`, "first value of the victim");
  const attacker = await addParty(keep, `attacker ${number}`, values.attacker["/app/KEY"]);
  const token = victim.token.text;
  const inVault = (path: string): string => `vaults/${victim.vault}/secrets/by-path${path}`;
  await write(keep, token, [inVault("/app/KEY"), values.earlier["/app/KEY"]]);
  await send(keep, `vaults/${victim.vault}/folders`, { method: "POST", token, body: { path: "/empty" } });
  const project = await addVault(keep, token, { name: "Project", value: values.project["/app/KEY"] });
  const deleted = await addVault(keep, token, { name: "Deleted", value: values.deletedVault["/app/KEY"] });
  const forged = { token: generateToken(), session: generateRandomToken() };
  return {
    victim: {
      ...victim,
      ...(await addCredentials(keep, victim, project.vault)),
      otherSecret: await write(keep, token, [inVault("/app/OTHER"), "first other value of the victim"]),
      deletedSecret: await write(keep, token, [inVault("/app/GONE"), values.deleted["/app/GONE"]]),
      project: project.vault,
      projectSecret: project.secret,
      deletedVault: deleted.vault,
    },
    attacker,
    forged,
    hashes: {
      token: hashToken(forged.token).toString("hex"),
      session: hashText(forged.session).toString("hex"),
    },
  };
}

async function addCredentials(keep: TestKeep, { account, session, person }: Party, vault: string) {
  const addToken = (grant: object) =>
    keep.addToken({ accountId: account }, { scopes: ["secrets:read"], ...grant });
  const body = { name: "Logged", scopes: ["secrets:read"] };
  const logged = await send<{ id: string; value: string }>(keep, "tokens", {
    method: "POST",
    ...asSession(session.text),
    body,
  });
  const ended = await signIn(keep, person);
  return {
    logged: { id: logged.id, text: logged.value },
    limited: await addToken({ paths: ["/public/**"], vaultIds: [vault] }),
    bound: await addToken({ addresses: ["203.0.113.0/24"] }),
    expired: await addToken({ expiresAt: new Date(Date.now() - 1000) }),
    revoked: await addToken({}),
    rotated: await addToken({ scopes: ["secrets:read", "tokens:write"] }),
    ended: { id: ended.id, text: ended.text },
  };
}

/** The last changes: what was stored or allowed before must not come back. */
export async function changeAttacked(keep: TestKeep, { victim }: Attacked): Promise<void> {
  const token = victim.token.text;
  const session = asSession(victim.session.text);
  const inVault = (path: string): string => `vaults/${victim.vault}/secrets/by-path${path}`;
  for (const path of ["/app/KEY", "/app/OTHER"] as const)
    await write(keep, token, [inVault(path), values.victim[path]]);
  await send(keep, `vaults/${victim.vault}/secrets/${victim.deletedSecret}`, { method: "DELETE", token });
  await send(keep, `vaults/${victim.deletedVault}`, { method: "DELETE", token });
  await send(keep, `tokens/${victim.revoked.id}`, { method: "DELETE", token });
  await send(keep, `tokens/${victim.rotated.id}/rotate`, { method: "POST", ...session, body: {} });
  const ended = await keep.request(`/api/account/sessions/${victim.ended.id}`, {
    method: "DELETE",
    ...session,
  });
  expect(ended.status).toBe(204);
}

async function addVault(
  keep: TestKeep,
  token: string,
  { name, value }: { readonly name: string; readonly value: string },
): Promise<{ readonly vault: string; readonly secret: string }> {
  const { id: vault } = await send<{ id: string }>(keep, "vaults", { method: "POST", token, body: { name } });
  return { vault, secret: await write(keep, token, [`vaults/${vault}/secrets/by-path/app/KEY`, value]) };
}

/** Identifies a copy that an attacker inserts. */
export const newId = generateId();
