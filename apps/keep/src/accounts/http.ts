import { type HttpResponse, jsonResponse } from "@hearth-and-keep/http-service";
import type { Account, accountDeletion, Session, SessionList } from "@hearth-and-keep/vault-contract";
import { freshMillisecondsLeft } from "../access/authenticate.ts";
import { readId } from "../access/read-change.ts";
import type { KeepDependencies } from "../dependencies.ts";
import { requestFailure } from "../failures.ts";
import { noContentAfter } from "../idempotency/http.ts";
import type { BodyRequest, KeepRequest } from "../route-row.ts";
import { revokeSession, revokeSessions } from "../sign-in/revoke-sessions.ts";
import { listSessions } from "../sign-in/sessions.ts";
import { deleteAccount, leaveBeforeDeletion } from "./delete-account.ts";
import { countHoldings, listIdentities, readAccount } from "./queries.ts";
import { unlinkIdentity } from "./unlink-identity.ts";

export async function handleDeleteAccount(
  request: BodyRequest<typeof accountDeletion>,
  dependencies: KeepDependencies,
): Promise<HttpResponse> {
  const deletion = { actor: request.actor, confirmation: request.body.confirm };
  await leaveBeforeDeletion(deletion, dependencies);
  return noContentAfter(request, dependencies, (transaction) =>
    deleteAccount(transaction, deletion, dependencies),
  );
}

export async function handleDeleteOtherSessions(
  request: KeepRequest,
  dependencies: KeepDependencies,
): Promise<HttpResponse> {
  const { actor } = request;
  const revocation = { accountId: actor.accountId, by: actor, selector: { allBut: actor.id } };
  return noContentAfter(request, dependencies, (transaction) =>
    revokeSessions(transaction, revocation, dependencies),
  );
}

export async function handleDeleteSession(
  request: KeepRequest,
  dependencies: KeepDependencies,
): Promise<HttpResponse> {
  const id = readId(request.parameters["session"]);
  return noContentAfter(request, dependencies, (transaction) =>
    revokeSession(transaction, { by: request.actor, id }, dependencies),
  );
}

export async function handleUnlinkIdentity(
  request: KeepRequest,
  dependencies: KeepDependencies,
): Promise<HttpResponse> {
  const identityId = readId(request.parameters["identity"]);
  return noContentAfter(request, dependencies, (transaction) =>
    unlinkIdentity(transaction, { actor: request.actor, identityId }, dependencies),
  );
}

export async function handleGetSession(
  { actor }: KeepRequest,
  { database, signIn }: KeepDependencies,
): Promise<HttpResponse> {
  const row = await findAccount(actor, database);
  const body: Session = {
    id: actor.id,
    authenticated_at: (actor.authenticatedAt ?? new Date(0)).toISOString(),
    fresh_seconds: Math.max(0, Math.floor(freshMillisecondsLeft(actor) / 1000)),
    account: {
      id: actor.accountId,
      display_name: row.display_name,
      ...(actor.isOperator === true ? { is_operator: true } : {}),
    },
    providers: [...signIn.providers.values()].map(({ kind, name, fillsTeams }) => ({
      kind,
      name,
      ...(fillsTeams ? { fills_teams: true } : {}),
    })),
  };
  return jsonResponse(body);
}

export async function handleGetAccount(
  { actor }: KeepRequest,
  { database }: KeepDependencies,
): Promise<HttpResponse> {
  const row = await findAccount(actor, database);
  const identities = await listIdentities(database, actor.accountId);
  const body: Account = {
    id: actor.accountId,
    display_name: row.display_name,
    created_at: row.created_at.toISOString(),
    holds: await countHoldings(database, actor.accountId),
    identities: identities.map(({ created_at, last_sign_in_at, ...identity }) => ({
      ...identity,
      created_at: created_at.toISOString(),
      last_sign_in_at: last_sign_in_at.toISOString(),
      is_current: identity.id === actor.identityId,
    })),
  };
  return jsonResponse(body);
}

export async function handleListSessions(
  { actor }: KeepRequest,
  dependencies: KeepDependencies,
): Promise<HttpResponse> {
  const rows = await listSessions(actor, dependencies);
  const body: SessionList = {
    items: rows.map((row) => ({
      id: row.id,
      identity_id: row.identity_id,
      created_at: row.created_at.toISOString(),
      authenticated_at: row.authenticated_at.toISOString(),
      last_seen_at: row.last_seen_at.toISOString(),
      idle_until: row.idle_until.toISOString(),
      absolute_until: row.absolute_until.toISOString(),
      address: row.address,
      user_agent: row.user_agent,
      is_current: row.id === actor.id,
    })),
  };
  return jsonResponse(body);
}

/** The account may be deleted after the session was checked. */
async function findAccount({ accountId }: KeepRequest["actor"], database: KeepDependencies["database"]) {
  const row = await readAccount(database, accountId);
  if (row === undefined) throw requestFailure({ kind: "unauthenticated" });
  return row;
}
