import { type HttpResponse, jsonResponse } from "@hearth-and-keep/http-service";
import type { newTeam, Team, teamChanges } from "@hearth-and-keep/vault-contract";
import { assertFresh } from "../../access/authenticate.ts";
import { readId, readIdempotencyKey } from "../../access/read-change.ts";
import type { KeepDependencies } from "../../dependencies.ts";
import { noContentAfter } from "../../idempotency/http.ts";
import { runIdempotent } from "../../idempotency/run-idempotent.ts";
import type { BodyRequest, KeepRequest } from "../../route-row.ts";
import {
  addTeamMember,
  changeTeamGroup,
  createTeam,
  deleteTeam,
  removeTeamMember,
  renameTeam,
} from "./change-teams.ts";
import { listTeams, type TeamRow } from "./queries.ts";

export async function handleListTeams(
  { actor }: KeepRequest,
  { database }: KeepDependencies,
): Promise<HttpResponse> {
  const rows = await listTeams(database, actor.accountId);
  return jsonResponse({ items: rows.map(describeTeam) });
}

export async function handleCreateTeam(
  request: BodyRequest<typeof newTeam>,
  dependencies: KeepDependencies,
): Promise<HttpResponse> {
  const { actor, body } = request;
  const externalGroup = body.external_group ?? null;
  if (externalGroup !== null) assertFresh(actor);
  const idempotencyKey = readIdempotencyKey(request, dependencies.serverKeys);
  const { result } = await runIdempotent(
    dependencies.database,
    { actor, idempotencyKey },
    async (transaction) =>
      describeTeam(await createTeam(transaction, { actor, name: body.name, externalGroup }, dependencies)),
  );
  return jsonResponse(result, 201);
}

/** A group adds and removes members, so it needs a recent sign-in as adding and removing them does. */
export async function handleUpdateTeam(
  request: BodyRequest<typeof teamChanges>,
  dependencies: KeepDependencies,
): Promise<HttpResponse> {
  const { actor, body } = request;
  const { name, external_group: externalGroup } = body;
  if (externalGroup !== undefined) assertFresh(actor);
  const team = { actor, teamId: readTeamId(request) };
  return noContentAfter(request, dependencies, async (transaction) => {
    if (name !== undefined) await renameTeam(transaction, { ...team, name }, dependencies);
    if (externalGroup !== undefined)
      await changeTeamGroup(transaction, { ...team, externalGroup }, dependencies);
  });
}

export async function handleDeleteTeam(
  request: KeepRequest,
  dependencies: KeepDependencies,
): Promise<HttpResponse> {
  const deletion = { actor: request.actor, teamId: readTeamId(request) };
  return noContentAfter(request, dependencies, (transaction) =>
    deleteTeam(transaction, deletion, dependencies),
  );
}

export async function handleAddTeamMember(
  request: KeepRequest,
  dependencies: KeepDependencies,
): Promise<HttpResponse> {
  return noContentAfter(request, dependencies, (transaction) =>
    addTeamMember(transaction, readTeamMember(request), dependencies),
  );
}

export async function handleRemoveTeamMember(
  request: KeepRequest,
  dependencies: KeepDependencies,
): Promise<HttpResponse> {
  return noContentAfter(request, dependencies, (transaction) =>
    removeTeamMember(transaction, readTeamMember(request), dependencies),
  );
}

function readTeamId({ parameters }: Pick<KeepRequest, "parameters">): string {
  return readId(parameters["team"]);
}

function readTeamMember(request: KeepRequest) {
  const { actor, parameters } = request;
  return { actor, teamId: readTeamId(request), personId: readId(parameters["person"]) };
}

function describeTeam({ id, name, members, externalGroup, createdAt }: TeamRow): Team {
  return { id, name, members, external_group: externalGroup, created_at: createdAt.toISOString() };
}
