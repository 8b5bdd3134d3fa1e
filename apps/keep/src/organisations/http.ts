import { type HttpResponse, jsonResponse } from "@hearth-and-keep/http-service";
import type {
  Invitation,
  IssuedInvitation,
  invitationAcceptance,
  Member,
  memberChange,
  memberQuery,
  newInvitation,
  newOrganisation,
  Organisation,
  organisationChanges,
  organisationDeletion,
} from "@hearth-and-keep/vault-contract";
import { readId } from "../access/read-change.ts";
import { deleteAccount } from "../accounts/delete-account.ts";
import type { KeepDependencies } from "../dependencies.ts";
import { requestFailure } from "../failures.ts";
import { noContentAfter, runChange } from "../idempotency/http.ts";
import type { BodyRequest, KeepRequest, QueryRequest } from "../route-row.ts";
import { acceptInvitation } from "./accept-invitation.ts";
import { changeRole, removeMember } from "./change-members.ts";
import { createInvitation, type IssuedInvitation as Issued, revokeInvitation } from "./create-invitation.ts";
import { createOrganisation } from "./create-organisation.ts";
import { findMembership, listMemberships, type Membership } from "./find-membership.ts";
import { invitationPath } from "./invitation-code.ts";
import { type ListedInvitation, listInvitations, listMembers, readDisplayNames } from "./queries.ts";
import { renameOrganisation } from "./rename-organisation.ts";

const defaultPageItems = 100;

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
  const items = listed.map(({ personId, role, joinedAt }) => ({
    person_id: personId,
    display_name: names.get(personId) ?? null,
    // The column's constraint.
    role: role as Member["role"],
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
  return jsonResponse(describeOrganisation(await acceptInvitation(actor, body.code, dependencies)));
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
