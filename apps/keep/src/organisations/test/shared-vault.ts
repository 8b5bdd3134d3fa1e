import type { ApiToken, Team, VaultGrant } from "@hearth-and-keep/vault-contract";
import type { Role, VaultRole } from "../../authorization/roles.ts";
import type { Scope } from "../../authorization/scopes.ts";
import { formatGrants, type VaultGrant as StoredGrant } from "../../grants/vault-grants.ts";
import { signAllRows } from "../../keys/row-integrity/account-epoch.ts";
import type { TestKeep } from "../../test/start-test-keep.ts";
import { addTeammate, createTeam, join, type Teammate } from "./start-team.ts";

/** The last segment of a path. */
export function idOf(path: string): string {
  return path.split("/").at(-1) ?? "";
}

export type TestOrganisation = {
  /** Such as `/api/organisations/0198…`. */
  readonly organisation: string;
  readonly accountId: string;
  readonly owner: Teammate;
  /** A new member. */
  add(role?: Role): Promise<Teammate>;
};

export async function createOrganisation(keep: TestKeep): Promise<TestOrganisation> {
  const owner = await addTeammate(keep);
  const organisation = await createTeam(owner);
  return {
    organisation,
    accountId: idOf(organisation),
    owner,
    async add(role = "member") {
      const person = await addTeammate(keep);
      await join(owner, organisation, [person, role]);
      return person;
    },
  };
}

/** Throws unless the request succeeds. */
export async function succeed<Body>(
  person: Teammate,
  ...request: readonly [method: string, path: string, body?: object]
): Promise<Body> {
  const { status, body } = await person.send<Body>(...request);
  if (status >= 300) throw new Error(`Cannot ${request[0]} ${request[1]}: ${status} ${JSON.stringify(body)}`);
  return body;
}

export async function statusOf(
  person: Teammate,
  ...request: readonly [method: string, path: string, body?: object]
): Promise<number> {
  return (await person.send(...request)).status;
}

/** Creates a vault, which its creator manages, with secrets of which the value is the path; returns its path. */
export async function createVault(
  creator: Teammate,
  organisation: string,
  paths: readonly string[] = [],
): Promise<string> {
  const { id } = await succeed<{ id: string }>(creator, "POST", `${organisation}/vaults`, {
    name: "Project",
  });
  const vault = `/api/secrets/vaults/${id}`;
  for (const path of paths) await write(creator, vault, [path, path]);
  return vault;
}

/** Returns the id of the secret. */
export async function write(
  person: Teammate,
  vault: string,
  [path, value]: readonly [path: string, value: string],
): Promise<string> {
  const { id } = await succeed<{ id: string }>(person, "PUT", `${vault}/secrets/by-path${path}`, { value });
  return id;
}

/** Status of a read of the value. */
export function read(person: Teammate, vault: string, path: string): Promise<number> {
  return statusOf(person, "GET", valueOf(vault, path));
}

export function valueOf(vault: string, path: string): string {
  return `${vault}/values/by-path${path}`;
}

type Holder = VaultGrant["holder"];
type NewGrant = { readonly holder: Holder; readonly role: VaultRole; readonly paths?: readonly string[] };

export function personHolder({ accountId }: Pick<Teammate, "accountId">): Holder {
  return { type: "person", id: accountId };
}

/** Returns the path of the new grant. */
export async function share(by: Teammate, vault: string, grant: NewGrant): Promise<string> {
  const { id } = await succeed<VaultGrant>(by, "POST", `${vault}/grants`, grant);
  return `${vault}/grants/${id}`;
}

/** A new team with these members. */
export async function addTeam(
  owner: Teammate,
  organisation: string,
  members: readonly Teammate[] = [],
): Promise<Holder & { readonly path: string }> {
  const { id } = await succeed<Team>(owner, "POST", `${organisation}/teams`, { name: "Operations" });
  const path = `${organisation}/teams/${id}`;
  for (const { accountId } of members) await succeed(owner, "PUT", `${path}/members/${accountId}`);
  return { type: "team", id, path };
}

export type NewToken = {
  readonly for?: "me" | "organisation";
  readonly name?: string;
  readonly scopes: readonly Scope[];
  readonly vault_ids?: readonly string[];
  readonly paths?: readonly string[];
};

export type IssuedToken = ApiToken & { readonly value: string };

/** A token in the organisation, by default of the member. */
export function addMemberToken(
  member: Teammate,
  organisation: string,
  token: NewToken,
): Promise<IssuedToken> {
  return succeed(member, "POST", `${organisation}/tokens`, { for: "me", name: "test", ...token });
}

/** Status of a request with a token. */
export async function statusWith(
  node: Pick<TestKeep, "request">,
  token: string,
  ...[method, path, body]: readonly [method: string, path: string, body?: object]
): Promise<number> {
  const response = await node.request(path, { method, token, ...(body === undefined ? {} : { body }) });
  await response.arrayBuffer();
  return response.status;
}

/** Bodies of the newest records of a log, newest first. */
export async function readEvents(person: Teammate, path: string): Promise<readonly object[]> {
  type Page = { readonly items: readonly { readonly body: object }[] };
  const { items } = await succeed<Page>(person, "GET", `${path}/audit?limit=200`);
  return items.map(({ body }) => body);
}

/** Replaces the grants of vaults, by their ids, by more than requests could add in time; signed as Keep does. */
export async function storeGrants(
  keep: TestKeep,
  accountId: string,
  grants: ReadonlyMap<string, readonly StoredGrant[]>,
): Promise<void> {
  await keep.database.inAccount(accountId, async (transaction) => {
    for (const [vaultId, ofVault] of grants)
      await transaction.query({
        text: "UPDATE vault_access SET grants = $3 WHERE account_id = $1 AND vault_id = $2",
        values: [accountId, vaultId, formatGrants(ofVault)],
      });
    await signAllRows(transaction, accountId, keep.services.serverKeys.rowMacs);
  });
}
