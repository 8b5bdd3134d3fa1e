import { type Answer, jsonAnswer } from "@hearth-and-keep/http-service";
import {
  type Account,
  account,
  accountDeletion,
  type Session,
  type SessionList,
  session,
  sessionList,
} from "@hearth-and-keep/vault-contract";
import { freshMillisecondsLeft } from "../access/authenticate.ts";
import { readOnce } from "../access/idempotency-key.ts";
import { readId } from "../access/read-change.ts";
import type { Transaction } from "../database/transaction.ts";
import type { KeepParts } from "../dependencies.ts";
import { requestFailure } from "../failures.ts";
import { changeOnce } from "../idempotency/change-once.ts";
import { type KeepCall, type KeepRoute, takes } from "../route-row.ts";
import { endOneSession, endSessions, listSessions } from "../sign-in/sessions.ts";
import { deleteAccount } from "./delete-account.ts";
import { countHoldings, listIdentities, readAccount } from "./queries.ts";
import { unlinkIdentity } from "./unlink-identity.ts";

const done: KeepRoute["answers"] = { 204: "empty" };

export const accountRoutes: readonly KeepRoute[] = [
  {
    method: "GET",
    path: "/api/session",
    access: "session",
    summary: "Who is signed in",
    answers: { 200: { json: session } },
    handle: describeSession,
  },
  {
    method: "GET",
    path: "/api/account",
    access: "session",
    summary: "The account and the identities that may enter it",
    answers: { 200: { json: account } },
    handle: describeAccount,
  },
  {
    method: "DELETE",
    path: "/api/account",
    access: "fresh",
    scope: "session",
    summary: "Delete the account with everything in it, for good",
    answers: done,
    ...takes({ body: accountDeletion }, (call, parts) =>
      change(call, parts, (transaction) =>
        deleteAccount(transaction, { actor: call.actor, confirmation: call.body.confirm }, parts),
      ),
    ),
  },
  {
    method: "GET",
    path: "/api/account/sessions",
    access: "session",
    summary: "The sessions that hold",
    answers: { 200: { json: sessionList } },
    handle: describeSessions,
  },
  {
    method: "DELETE",
    path: "/api/account/sessions",
    access: "session",
    summary: "End every other session",
    answers: done,
    handle: (call, parts) =>
      change(call, parts, (transaction) =>
        endSessions(transaction, { by: call.actor, which: { allBut: call.actor.id } }, parts),
      ),
  },
  {
    method: "DELETE",
    path: "/api/account/sessions/:session",
    access: "session",
    summary: "End one session",
    answers: done,
    handle: (call, parts) => {
      const id = readId(call.parameters["session"]);
      return change(call, parts, (transaction) => endOneSession(transaction, { by: call.actor, id }, parts));
    },
  },
  {
    method: "DELETE",
    path: "/api/account/identities/:identity",
    access: "fresh",
    scope: "session",
    summary: "Unlink an identity; never the last",
    answers: done,
    handle: (call, parts) => {
      const identityId = readId(call.parameters["identity"]);
      return change(call, parts, (transaction) =>
        unlinkIdentity(transaction, { actor: call.actor, identityId }, parts),
      );
    },
  },
];

async function describeSession({ actor }: KeepCall, { database, signIn }: KeepParts): Promise<Answer> {
  const row = await findAccount(actor, database);
  const body: Session = {
    id: actor.id,
    authenticated_at: (actor.authenticatedAt ?? new Date(0)).toISOString(),
    fresh_seconds: Math.max(0, Math.floor(freshMillisecondsLeft(actor) / 1000)),
    account: { id: actor.accountId, display_name: row.display_name },
    providers: [...signIn.providers.values()].map(({ kind, name }) => ({ kind, name })),
  };
  return jsonAnswer(body);
}

async function describeAccount({ actor }: KeepCall, { database }: KeepParts): Promise<Answer> {
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
  return jsonAnswer(body);
}

async function describeSessions({ actor }: KeepCall, parts: KeepParts): Promise<Answer> {
  const rows = await listSessions(actor, parts);
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
  return jsonAnswer(body);
}

/** The account may end between the moment the session was checked and this one. */
async function findAccount({ accountId }: KeepCall["actor"], database: KeepParts["database"]) {
  const row = await readAccount(database, accountId);
  if (row === undefined) throw requestFailure({ kind: "unauthenticated" });
  return row;
}

async function change(
  call: KeepCall,
  { database, serverKeys }: KeepParts,
  work: (transaction: Transaction) => Promise<unknown>,
): Promise<Answer> {
  const once = readOnce(call, serverKeys);
  await changeOnce(database, { actor: call.actor, once }, async (transaction) => {
    await work(transaction);
    return null;
  });
  return { status: 204 };
}
