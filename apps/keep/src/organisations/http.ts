import { type HttpResponse, jsonResponse } from "@hearth-and-keep/http-service";
import type {
  Exposure,
  Invitation,
  IssuedInvitation,
  invitationAcceptance,
  Member,
  memberChange,
  memberQuery,
  newInvitation,
  newOrganisation,
  newVault,
  Organisation,
  organisationChanges,
  organisationDeletion,
} from "@hearth-and-keep/vault-contract";
import { readId, readIdempotencyKey } from "../access/read-change.ts";
import { deleteAccount } from "../accounts/delete-account.ts";
import { vaultsOf } from "../authorization/grant.ts";
import type { KeepDependencies } from "../dependencies.ts";
import { requestFailure } from "../failures.ts";
import { noContentAfter, runChange } from "../idempotency/http.ts";
import { asRequestFailure } from "../problems.ts";
import type { BodyRequest, KeepRequest, QueryRequest } from "../route-row.ts";
import { addVault } from "../vaults/create-vault.ts";
import { describeVault } from "../vaults/describe-vault.ts";
import { vaultResponse } from "../vaults/http.ts";
import { listVaults } from "../vaults/queries.ts";
import { acceptInvitation } from "./accept-invitation.ts";
import { changeRole, removeMember } from "./change-members.ts";
import { createInvitation, type IssuedInvitation as Issued, revokeInvitation } from "./create-invitation.ts";
import { createOrganisation } from "./create-organisation.ts";
import { findMembership, listMemberships, type Membership } from "./find-membership.ts";
import { invitationPath } from "./invitation-code.ts";
import {
  findMember,
  type ListedInvitation,
  listInvitations,
  listMembers,
  readDisplayNames,
} from "./queries.ts";
import { readExposure } from "./read-exposure.ts";
import { renameOrganisation } from "./rename-organisation.ts";

const defaultPageItems = 100;
/** No account has more. */
const maxVaults = 200;

export async function handleListOrganisations(
  { actor }: KeepRequest,
  dependencies: KeepDependencies,
): Promise<HttpResponse> {
  const memberships = await listMemberships(actor.accountId, dependencies);
  return jsonResponse({ items: memberships.map(describeOrganisation) });
}

export async function handleCreateOrganisation(
  { actor, body }: BodyRequest<typeof newOrganisation>,
  dependencies: KeepDependencies,
): Promise<HttpResponse> {
  const created = await createOrganisation(actor, body.name, dependencies);
  return jsonResponse(describeOrganisation(created), 201);
}

export async function handleGetOrganisation(
  request: KeepRequest,
  dependencies: KeepDependencies,
): Promise<HttpResponse> {
  return jsonResponse(describeOrganisation(await readOrganisation(request, dependencies)));
}

export async function handleRenameOrganisation(
  request: BodyRequest<typeof organisationChanges>,
  dependencies: KeepDependencies,
): Promise<HttpResponse> {
  const { actor, body } = request;
  await runChange(request, dependencies, (transaction) =>
    renameOrganisation(transaction, { actor, name: body.name }, dependencies),
  );
  return handleGetOrganisation(request, dependencies);
}

export async function handleDeleteOrganisation(
  request: BodyRequest<typeof organisationDeletion>,
  dependencies: KeepDependencies,
): Promise<HttpResponse> {
  const { actor, body } = request;
  await dependencies.database.inAccount(actor.accountId, (transaction) =>
    deleteAccount(transaction, { actor, confirmation: body.confirm }, dependencies),
  );
  return { status: 204 };
}

export async function handleListMembers(
  { actor, query }: QueryRequest<typeof memberQuery>,
  { database }: KeepDependencies,
): Promise<HttpResponse> {
  const limit = Number(query.limit ?? defaultPageItems);
  const page = { after: query.cursor ?? null, limit: limit + 1 };
  const rows = await listMembers(database, actor.accountId, page);
  const listed = rows.slice(0, limit);
  const names = await readDisplayNames(
    database,
    listed.map(({ personId }) => personId),
  );
  const items = listed.map(({ personId, role, teamIds, groupTeamIds, joinedAt }) => ({
    person_id: personId,
    display_name: names.get(personId) ?? null,
    // The column's constraint.
    role: role as Member["role"],
    team_ids: [...teamIds],
    group_team_ids: [...groupTeamIds],
    joined_at: joinedAt.toISOString(),
  }));
  return jsonResponse({ items, ...(rows.length > limit ? { next_cursor: items.at(-1)?.person_id } : {}) });
}

export async function handleChangeMember(
  request: BodyRequest<typeof memberChange>,
  dependencies: KeepDependencies,
): Promise<HttpResponse> {
  const { actor, body, parameters } = request;
  const change = {
    accountId: actor.accountId,
    personId: readId(parameters["person"]),
    role: body.role,
    by: actor,
  };
  return noContentAfter(request, dependencies, (transaction) =>
    changeRole(transaction, change, dependencies),
  );
}

export async function handleRemoveMember(
  request: KeepRequest,
  dependencies: KeepDependencies,
): Promise<HttpResponse> {
  return remove(readId(request.parameters["person"]), request, dependencies);
}

export async function handleLeaveOrganisation(
  request: KeepRequest,
  dependencies: KeepDependencies,
): Promise<HttpResponse> {
  return remove(request.actor.personId ?? "", request, dependencies);
}

async function remove(
  personId: string,
  request: KeepRequest,
  dependencies: KeepDependencies,
): Promise<HttpResponse> {
  const removal = { accountId: request.actor.accountId, personId, by: request.actor };
  return noContentAfter(request, dependencies, async (transaction) => {
    if (!(await removeMember(transaction, removal, dependencies)))
      throw requestFailure({ kind: "not-found" });
  });
}

/** The secrets that a member has read. */
export async function handleGetExposure(
  { actor, parameters }: KeepRequest,
  { database }: KeepDependencies,
): Promise<HttpResponse> {
  const memberRef = { accountId: actor.accountId, personId: readId(parameters["person"]) };
  const { secrets, isComplete } = await readExposure(database, memberRef);
  // Whoever has left is still known by what they have read.
  if (secrets.length === 0 && (await findMember(database, memberRef)) === undefined)
    throw requestFailure({ kind: "not-found" });
  const items = secrets.map(({ vaultId, vaultName, secretId, path, version, readAt, isCurrent }) => ({
    vault_id: vaultId,
    vault_name: vaultName,
    secret_id: secretId,
    path,
    version,
    read_at: readAt.toISOString(),
    is_current: isCurrent,
  }));
  return jsonResponse({ items, is_complete: isComplete } satisfies Exposure);
}

/** The vaults in which the member may do something. */
export async function handleListOrganisationVaults(
  { actor }: KeepRequest,
  { database }: KeepDependencies,
): Promise<HttpResponse> {
  const allowed = vaultsOf(actor.grant, "vaults:read");
  const page = { ids: allowed === undefined ? null : [...allowed], after: null, limit: maxVaults };
  const rows = await listVaults(database, actor.accountId, page);
  return jsonResponse(rows.map(describeVault));
}

export async function handleCreateOrganisationVault(
  request: BodyRequest<typeof newVault>,
  dependencies: KeepDependencies,
): Promise<HttpResponse> {
  const { actor, body } = request;
  const idempotencyKey = readIdempotencyKey(request, dependencies.serverKeys);
  const { result } = await addVault({ actor, idempotencyKey }, body.name, dependencies);
  return vaultResponse(result, 201);
}

export async function handleListInvitations(
  { actor }: KeepRequest,
  { database }: KeepDependencies,
): Promise<HttpResponse> {
  const rows = await listInvitations(database, actor.accountId);
  return jsonResponse({ items: rows.map(describeInvitation) });
}

export async function handleCreateInvitation(
  request: BodyRequest<typeof newInvitation>,
  dependencies: KeepDependencies,
): Promise<HttpResponse> {
  const { actor, body } = request;
  const spec = { role: body.role, identity: body.identity ?? null };
  let issued: Issued | undefined;
  await runChange(request, dependencies, async (transaction) => {
    issued = await createInvitation(transaction, { actor, spec }, dependencies);
  });
  if (issued === undefined) {
    const reason =
      "The invitation was already created; its link is returned only once. Revoke it and create another";
    throw requestFailure({ kind: "conflict", reason });
  }
  const { invitation, code } = issued;
  const link = new URL(invitationPath(code), dependencies.signIn.publicUrl).href;
  const response: IssuedInvitation = { ...describeInvitation(invitation), code, link };
  return jsonResponse(response, 201);
}

export async function handleRevokeInvitation(
  request: KeepRequest,
  dependencies: KeepDependencies,
): Promise<HttpResponse> {
  const id = readId(request.parameters["invitation"]);
  return noContentAfter(request, dependencies, (transaction) =>
    revokeInvitation(transaction, { actor: request.actor, id }, dependencies),
  );
}

export async function handleAcceptInvitation(
  { actor, body }: BodyRequest<typeof invitationAcceptance>,
  dependencies: KeepDependencies,
): Promise<HttpResponse> {
  const joined = await acceptInvitation(actor, body.code, dependencies).catch((error: unknown) => {
    if (asRequestFailure(error).kind !== "not-found") throw error;
    throw requestFailure({ kind: "invitation-not-valid" });
  });
  return jsonResponse(describeOrganisation(joined));
}

/** The person may have been removed after the request was admitted. */
async function readOrganisation(
  { actor: { accountId, personId = "" } }: KeepRequest,
  dependencies: KeepDependencies,
): Promise<Membership> {
  const membership = await findMembership({ accountId, personId }, dependencies);
  if (membership === undefined) throw requestFailure({ kind: "not-found" });
  return membership;
}

function describeOrganisation({ id, name, role, createdAt }: Membership): Organisation {
  return { id, name, role, created_at: createdAt.toISOString() };
}

function describeInvitation({
  id,
  role,
  identity,
  invitedBy,
  createdAt,
  expiresAt,
}: ListedInvitation): Invitation {
  return {
    id,
    // The column's constraint.
    role: role as Invitation["role"],
    identity,
    invited_by: invitedBy,
    created_at: createdAt.toISOString(),
    expires_at: expiresAt.toISOString(),
  };
}
