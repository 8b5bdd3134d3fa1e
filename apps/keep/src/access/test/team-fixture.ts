import { makeWorkloadKey, publicJwk, signWorkloadToken } from "@hearth-and-keep/test-servers";
import { changeOperator, suspendAccount } from "../../accounts/suspend-account.ts";
import { fullGrant } from "../../authorization/grant.ts";
import type { Role, VaultRole } from "../../authorization/roles.ts";
import { scopes } from "../../authorization/scopes.ts";
import { generateId } from "../../generate-id.ts";
import { addMember } from "../../organisations/add-member.ts";
import { createOrganisation } from "../../organisations/create-organisation.ts";
import { startTestKeep, type TestKeep, type TestPerson } from "../../test/start-test-keep.ts";
import { addSession } from "./fixture.ts";

/** Headers that authenticate a request. */
export type Credentials = Readonly<Record<string, string>>;

/** Who may manage everything, and adds what the requests of the others need. */
export type TestOrganisation = {
  readonly keep: TestKeep;
  readonly id: string;
  /** An owner's session. */
  readonly steward: TeamPerson;
  /** A token of the organisation that may do everything. */
  readonly admin: Credentials;
  /** A member whose tokens and grants are the objects of requests. */
  readonly colleague: TeamPerson;
  readonly vaults: Readonly<Record<VaultName, string>>;
};

/** The principals have grants in A only. */
export type VaultName = "A" | "B";

type TeamPerson = TestPerson & { readonly credentials: Credentials };

export const organisationName = "Acme";

type AdminRequest = {
  readonly method: string;
  readonly path: string;
  readonly body?: object;
  readonly credentials?: Credentials;
};

/** The response to a request that must succeed. */
export async function request<Body = { readonly id: string }>(
  { keep, admin }: Pick<TestOrganisation, "keep" | "admin">,
  { method, path, body, credentials = admin }: AdminRequest,
): Promise<Body> {
  const response = await keep.request(path, {
    method,
    headers: { "x-forwarded-for": nextAddress(), ...credentials },
    ...(body === undefined ? {} : { body }),
  });
  const text = await response.text();
  if (!response.ok) throw new Error(`Cannot prepare: ${method} ${path} returned ${response.status} ${text}`);
  // The type that the caller expects of this route.
  return (text === "" ? {} : JSON.parse(text)) as Body;
}

let addresses = 0;

/** A new one each time, to stay below the rate limits per address; the test's own is a trusted proxy. */
export function nextAddress(): string {
  addresses += 1;
  return `10.${(addresses >> 16) & 255}.${(addresses >> 8) & 255}.${addresses & 255}`;
}

async function addTeamPerson(keep: TestKeep, ago = "1 minute"): Promise<TeamPerson> {
  const person = await keep.addPerson();
  return { ...person, credentials: await signIn(keep, person, ago) };
}

async function signIn(keep: TestKeep, person: TestPerson, ago: string): Promise<Credentials> {
  const { text } = await addSession(keep, person, ago);
  return { cookie: `session=${text}`, "sec-fetch-site": "same-origin" };
}

export async function addAsMember(
  { keep, id }: Pick<TestOrganisation, "keep" | "id">,
  personId: string,
  role: Role,
): Promise<void> {
  const member = { accountId: id, personId, role, by: "server" } as const;
  await keep.database.inAccount(id, (transaction) => addMember(transaction, member, keep.services));
}

export async function createTestOrganisation(keep: TestKeep, owner: TestPerson): Promise<string> {
  const { accountId } = owner;
  const by = { accountId, kind: "session", id: accountId, address: "127.0.0.1", grant: fullGrant } as const;
  return (await createOrganisation(by, organisationName, keep.services)).id;
}

export async function startOrganisation(keep: TestKeep): Promise<TestOrganisation> {
  const steward = await addTeamPerson(keep);
  const id = await createTestOrganisation(keep, steward);
  const token = await keep.addToken({ accountId: id }, { scopes });
  const admin = bearer(token.text);
  const colleague = await addTeamPerson(keep);
  await addAsMember({ keep, id }, colleague.accountId, "member");
  const createVault = async (name: VaultName): Promise<string> => {
    const path = `/api/organisations/${id}/vaults`;
    const { credentials } = steward;
    return (await request({ keep, admin }, { method: "POST", path, body: { name }, credentials })).id;
  };
  const vaults = { A: await createVault("A"), B: await createVault("B") };
  return { keep, id, steward, admin, colleague, vaults };
}

function bearer(text: string): Credentials {
  return { authorization: `Bearer ${text}` };
}

export type Principal = {
  readonly credentials: Credentials;
  /** The same person's session of an hour ago; absent for tokens. */
  readonly oldCredentials?: Credentials;
  readonly person?: TestPerson;
  /** In the organisation. */
  readonly role?: Role | undefined;
};

/** In the order of the table's columns. */
export const principalNames = [
  "operator",
  "owner",
  "owner without grant",
  "member",
  "auditor",
  "reader",
  "editor",
  "manager",
  "path reader",
  "path manager",
  "team editor",
  "outsider",
  "suspended",
  "organisation token",
  "own token",
  "exchanged token",
] as const;

export type PrincipalName = (typeof principalNames)[number];

export type TestTeam = AsyncDisposable & {
  readonly organisation: TestOrganisation;
  readonly principals: Readonly<Record<PrincipalName, Principal>>;
  readonly trustRule: string;
};

const settings = {
  readsPerMinute: "1000000",
  writesPerMinute: "1000000",
  trustedProxies: "127.0.0.1",
};

/** An organisation with two vaults, and all principals. */
export async function startTeam(): Promise<TestTeam> {
  await using cleanup = new AsyncDisposableStack();
  const keep = cleanup.use(await startTestKeep({ settings }));
  const organisation = await startOrganisation(keep);
  const people = await addPeople(organisation);
  const tokens = await addTokens(organisation, people);
  const owned = cleanup.move();
  return {
    organisation,
    principals: { ...people, ...tokens.principals },
    trustRule: tokens.trustRule,
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  };
}

type SessionPrincipal = Principal & { readonly person: TestPerson };

async function addPrincipal(organisation: TestOrganisation, role?: Role): Promise<SessionPrincipal> {
  const { keep } = organisation;
  const { credentials, ...person } = await addTeamPerson(keep);
  if (role !== undefined) await addAsMember(organisation, person.accountId, role);
  const oldCredentials = await signIn(keep, person, "1 hour");
  return { credentials, oldCredentials, person, ...(role === undefined ? {} : { role }) };
}

async function addPeople(organisation: TestOrganisation) {
  const { keep } = organisation;
  const add = (role?: Role) => addPrincipal(organisation, role);
  const withGrant = async (vaultRole: VaultRole, limits: { readonly paths?: readonly string[] } = {}) => {
    const principal = await add("member");
    await addGrant(organisation, { principal, role: vaultRole, ...limits });
    return principal;
  };
  const people = {
    operator: await add(),
    owner: await add("owner"),
    "owner without grant": await add("owner"),
    member: await add("member"),
    auditor: await add("auditor"),
    reader: await withGrant("reader"),
    editor: await withGrant("editor"),
    manager: await withGrant("manager"),
    "path reader": await withGrant("reader", { paths: ["/app/**"] }),
    "path manager": await withGrant("manager", { paths: ["/app/**"] }),
    "team editor": await add("member"),
    outsider: await add(),
    // A member of other organisations can be added only while their account is active.
    suspended: { ...(await withGrant("editor")), role: undefined },
  };
  await addGrant(organisation, { principal: people.owner, role: "manager" });
  await addTeamWithGrant(organisation, people["team editor"]);
  const { accountId } = people.operator.person;
  await keep.database.inAccount(accountId, (transaction) =>
    changeOperator(transaction, { accountId, isOperator: true }, keep.services),
  );
  const suspended = people.suspended.person.accountId;
  await keep.database.inAccount(suspended, (transaction) =>
    suspendAccount(transaction, { accountId: suspended, operator: accountId }, keep.services),
  );
  return people;
}

type NewGrant = {
  readonly principal: SessionPrincipal;
  readonly role: VaultRole;
  readonly paths?: readonly string[];
};

async function addGrant(organisation: TestOrganisation, { principal, ...grant }: NewGrant): Promise<void> {
  const path = `/api/secrets/vaults/${organisation.vaults.A}/grants`;
  const holder = { type: "person", id: principal.person.accountId };
  await request(organisation, { method: "POST", path, body: { holder, ...grant } });
}

async function addTeamWithGrant(organisation: TestOrganisation, { person }: SessionPrincipal): Promise<void> {
  const teams = `/api/organisations/${organisation.id}/teams`;
  const { credentials } = organisation.steward;
  const body = { name: "Developers" };
  const { id } = await request(organisation, { method: "POST", path: teams, body, credentials });
  const member = `${teams}/${id}/members/${person.accountId}`;
  await request(organisation, { method: "PUT", path: member, credentials });
  const holder = { type: "team", id };
  const path = `/api/secrets/vaults/${organisation.vaults.A}/grants`;
  await request(organisation, { method: "POST", path, body: { holder, role: "editor" } });
}

type People = Awaited<ReturnType<typeof addPeople>>;

async function addTokens(organisation: TestOrganisation, people: People) {
  const path = `/api/organisations/${organisation.id}/tokens`;
  const create = async (principal: SessionPrincipal, spec: object): Promise<Principal> => {
    const { credentials } = principal;
    const body = { name: "Principal", scopes, ...spec };
    const { value } = await request<{ readonly value: string }>(organisation, {
      method: "POST",
      path,
      body,
      credentials,
    });
    return { credentials: bearer(value) };
  };
  const ofVault = { for: "organisation", vault_ids: [organisation.vaults.A] };
  const exchanged = await exchangeToken(organisation, people.manager);
  const principals = {
    "organisation token": await create(people.owner, ofVault),
    "own token": await create(people.editor, { for: "me" }),
    "exchanged token": exchanged.principal,
  };
  return { principals, trustRule: exchanged.trustRule };
}

/** For a workload that the person trusts. */
async function exchangeToken(organisation: TestOrganisation, { credentials }: SessionPrincipal) {
  const key = makeWorkloadKey("EdDSA");
  const rules = "/api/secrets/trust-rules";
  const issuer = "https://issuer.example";
  const rule = {
    name: "Deploy",
    provider: "generic",
    issuer,
    conditions: [{ claim: "sub", values: ["deploy"] }],
    scopes,
    lifetime_seconds: 3600,
    jwks: { keys: [publicJwk(key)] },
  };
  const { id } = await request(organisation, { method: "POST", path: rules, body: rule, credentials });
  const { audience } = await request<{ readonly audience: string }>(organisation, {
    method: "GET",
    path: rules,
    credentials,
  });
  const now = Math.floor(Date.now() / 1000);
  const times = { iat: now, nbf: now, exp: now + 300 };
  const claims = { iss: issuer, aud: audience, sub: "deploy", jti: generateId(), ...times };
  const form = new URLSearchParams({
    grant_type: "urn:ietf:params:oauth:grant-type:token-exchange",
    subject_token_type: "urn:ietf:params:oauth:token-type:jwt",
    subject_token: signWorkloadToken(key, claims),
  });
  const response = await organisation.keep.request("/api/secrets/tokens/exchange", {
    method: "POST",
    body: form.toString(),
    headers: { "content-type": "application/x-www-form-urlencoded", "x-forwarded-for": nextAddress() },
  });
  // The contract's response.
  const { access_token: text } = (await response.json()) as { readonly access_token?: string };
  if (text === undefined) throw new Error(`Cannot exchange the token: ${response.status}`);
  return { principal: { credentials: bearer(text) }, trustRule: id };
}
