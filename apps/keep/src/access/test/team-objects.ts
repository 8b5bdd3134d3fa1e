import { generateId } from "../../generate-id.ts";
import type { Objects } from "./fixture.ts";
import { addAsMember, request, type TestOrganisation, type VaultName } from "./team-fixture.ts";

/** Objects for the requests of the matrix, in one vault and below one folder of it. */
export type Target = {
  readonly organisation: TestOrganisation;
  readonly vault: VaultName;
  /** Such as `/app`. */
  readonly root: string;
  /** The folder of the secret `key`, alone below the root. */
  readonly folder: string;
  readonly objects: Objects;
};

/** What a request that succeeds uses up. */
export type Renewal = (target: Target) => Promise<Target>;

let created = 0;

export function nextNumber(): number {
  created += 1;
  return created;
}

/** Values say whose they are, so that a response which reveals one is noticed. */
function formatValue(organisation: TestOrganisation, vault: string, path: string): string {
  return `value-of ${organisation.id} ${vault} ${path} end-of-value`;
}

export async function createTarget(
  organisation: TestOrganisation,
  vault: VaultName,
  root: string,
): Promise<Target> {
  const { id, vaults } = organisation;
  const ids = [
    "session",
    "identity",
    "account",
    "rule",
    "organisationRule",
    "secret",
    "person",
    "team",
    "invitation",
    "grant",
  ];
  const unused = Object.fromEntries(
    [...ids, "token", "organisationToken"].map((name) => [name, generateId()]),
  );
  const operation = await addOperation(organisation, vaults[vault]);
  const own = { organisation: id, vault: vaults[vault], version: "1", operation };
  // All members of Objects.
  const objects = { ...unused, ...own } as unknown as Objects;
  const empty: Target = { organisation, vault, root, folder: root, objects };
  let target = empty;
  for (const renew of [renewSecret, renewToken, renewPerson, renewInvitation, renewGrant, renewRule])
    target = await renew(target);
  return target;
}

function withObjects(target: Target, objects: Partial<Objects>): Target {
  return { ...target, objects: { ...target.objects, ...objects } };
}

/** A secret with two versions, in a folder of its own. */
export async function renewSecret(target: Target): Promise<Target> {
  const { organisation, vault, root } = target;
  const folder = `${root}/folder-${nextNumber()}`;
  const path = `/api/secrets/vaults/${organisation.vaults[vault]}/secrets/by-path${folder}/key`;
  const body = { value: formatValue(organisation, vault, `${folder}/key`) };
  await request(organisation, { method: "PUT", path, body });
  const { id } = await request(organisation, { method: "PUT", path, body });
  return { ...withObjects(target, { secret: id }), folder };
}

/** With an egress rule. */
export async function renewUsableSecret(target: Target): Promise<Target> {
  const renewed = await renewSecret(target);
  const { vault, secret } = renewed.objects;
  await request(target.organisation, {
    method: "PATCH",
    path: `/api/secrets/vaults/${vault}/secrets/${secret}`,
    body: { egress: { hosts: ["api.example"], ask: false } },
  });
  return renewed;
}

export async function renewDeletedSecret(target: Target): Promise<Target> {
  const renewed = await renewSecret(target);
  const { vault, secret } = renewed.objects;
  await request(target.organisation, {
    method: "DELETE",
    path: `/api/secrets/vaults/${vault}/secrets/${secret}`,
  });
  return renewed;
}

/** A token of the organisation that reads what is below the root. */
export async function renewToken(target: Target): Promise<Target> {
  const { organisation, root, objects } = target;
  const body = {
    name: "Reads",
    scopes: ["secrets:read"],
    vault_ids: [objects.vault],
    paths: [`${root}/**`],
  };
  const { id } = await request(organisation, { method: "POST", path: "/api/secrets/tokens", body });
  return withObjects(target, { token: id, organisationToken: id });
}

/** A trust rule of the organisation whose tokens read what is below the root. */
export async function renewRule(target: Target): Promise<Target> {
  const { organisation, root, objects } = target;
  const path = `/api/organisations/${organisation.id}/trust-rules`;
  const body = {
    name: "Reads",
    provider: "generic",
    issuer: "https://issuer.example",
    conditions: [{ claim: "sub", values: ["deploy"] }],
    scopes: ["secrets:read"],
    vault_ids: [objects.vault],
    paths: [`${root}/**`],
  };
  const { credentials } = organisation.steward;
  const { id } = await request(organisation, { method: "POST", path, body, credentials });
  return withObjects(target, { organisationRule: id });
}

export async function deleteRule({ organisation }: Target, id: string): Promise<void> {
  const path = `/api/organisations/${organisation.id}/trust-rules/${id}`;
  await request(organisation, { method: "DELETE", path, credentials: organisation.steward.credentials });
}

/** A colleague's own token. */
export async function renewMemberToken(target: Target): Promise<Target> {
  const { organisation, objects } = target;
  const { credentials } = organisation.colleague;
  const body = { name: "Own", scopes: ["vaults:read"], for: "me" };
  const path = `/api/organisations/${objects.organisation}/tokens`;
  const { id } = await request(organisation, { method: "POST", path, body, credentials });
  return withObjects(target, { token: id, organisationToken: id });
}

export async function revokeToken({ organisation }: Target, id: string): Promise<void> {
  await request(organisation, { method: "DELETE", path: `/api/secrets/tokens/${id}` });
}

/** A member, in a team. */
export async function renewPerson(target: Target): Promise<Target> {
  const { organisation } = target;
  const { accountId: person } = await organisation.keep.addPerson();
  await addAsMember(organisation, person, "member");
  const teams = `/api/organisations/${organisation.id}/teams`;
  const { credentials } = organisation.steward;
  const body = { name: "Operations" };
  const { id: team } = await request(organisation, { method: "POST", path: teams, body, credentials });
  const path = `${teams}/${team}/members/${person}`;
  await request(organisation, { method: "PUT", path, credentials });
  return withObjects(target, { person, team });
}

export async function renewInvitation(target: Target): Promise<Target> {
  const { organisation } = target;
  const { credentials } = organisation.steward;
  const path = `/api/organisations/${organisation.id}/invitations`;
  const invitation = { method: "POST", path, body: { role: "member" }, credentials };
  return withObjects(target, { invitation: (await request(organisation, invitation)).id });
}

/** To a colleague, somewhere below the root. */
export function renewGrant(target: Target): Promise<Target> {
  return addGrant(target, [`${target.root}/shared-${nextNumber()}/**`]);
}

/** To another member, for the whole vault. */
export async function renewWholeGrant(target: Target): Promise<Target> {
  return addGrant(await renewPerson(target), undefined);
}

async function addGrant(target: Target, paths: readonly string[] | undefined): Promise<Target> {
  const { organisation, vault, objects } = target;
  const id = paths === undefined ? objects.person : organisation.colleague.accountId;
  const body = { holder: { type: "person", id }, role: "reader", ...(paths === undefined ? {} : { paths }) };
  const path = `/api/secrets/vaults/${organisation.vaults[vault]}/grants`;
  return withObjects(target, { grant: (await request(organisation, { method: "POST", path, body })).id });
}

async function addOperation({ keep, id: accountId }: TestOrganisation, vaultId: string) {
  const id = generateId();
  await keep.database.inAccount(accountId, (transaction) =>
    transaction.query({
      text: "INSERT INTO operation (account_id, id, kind, vault_id, state) VALUES ($1, $2, 'rotate-data-key', $3, 'done')",
      values: [accountId, id, vaultId],
    }),
  );
  return id;
}

/** Waits for the rotation of the vault's data key that is running. */
export async function awaitRotation(target: Target): Promise<Target> {
  const { keep, id } = target.organisation;
  for (;;) {
    const running = await keep.database.queryInAccount(id, {
      text: "SELECT FROM operation WHERE account_id = entered.account::uuid AND vault_id = $2 AND state = 'running'",
      values: [target.objects.vault],
    });
    if (running.length === 0) return target;
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

export function deleteVault(target: Target): Promise<Target> {
  return changeVault(target, { method: "DELETE", isDeleted: false });
}

export function restoreVault(target: Target): Promise<Target> {
  return changeVault(target, { method: "POST", isDeleted: true });
}

/** Does nothing when the vault is in the wanted state already. */
async function changeVault(
  target: Target,
  { method, isDeleted }: { readonly method: string; readonly isDeleted: boolean },
): Promise<Target> {
  const { organisation, objects } = target;
  const vaults = "/api/secrets/vaults";
  const listed = await request<readonly { readonly id: string }[]>(organisation, {
    method: "GET",
    path: isDeleted ? `${vaults}?state=deleted` : vaults,
  });
  if (!listed.some(({ id }) => id === objects.vault)) return target;
  const path = `${vaults}/${objects.vault}${isDeleted ? "/restore" : ""}`;
  await request(organisation, { method, path });
  return target;
}

export async function purgeVault({ organisation }: Target, id: string): Promise<void> {
  await request(organisation, { method: "DELETE", path: `/api/secrets/vaults/${id}?purge=true` });
}
