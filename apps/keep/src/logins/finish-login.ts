import { timingSafeEqual } from "node:crypto";
import type { LoginError, LoginPermission } from "@hearth-and-keep/vault-contract";
import { readAccount } from "../accounts/queries.ts";
import type { Actor } from "../authorization/actor.ts";
import { fullGrant } from "../authorization/grant.ts";
import type { FindAccess } from "../authorization/member-access.ts";
import type { Scope } from "../authorization/scopes.ts";
import type { Database } from "../database/open-database.ts";
import { requestFailure } from "../failures.ts";
import type { ServerKeys } from "../keys/server-keys.ts";
import { isActiveAccount } from "../organisations/member-access.ts";
import { pkceChallenge } from "../sign-in/random-tokens.ts";
import {
  createMemberToken,
  createToken,
  type IssuedToken,
  type TokenDependencies,
} from "../tokens/create-token.ts";
import { hashCode, isGenuineLogin } from "./login-mac.ts";
import { type Decision, isLiveSession, type Login, pollLogin, takeLogin } from "./queries.ts";

export type FinishDependencies = Pick<TokenDependencies, "audit"> & {
  readonly database: Pick<Database, "query" | "queryInAccount" | "inAccount">;
  readonly serverKeys: Pick<ServerKeys, "fingerprint" | "rowMacs">;
  readonly findAccess: FindAccess;
};

export type FinishedLogin = IssuedToken & {
  readonly lifetimeSeconds: number;
  readonly account: { readonly id: string; readonly name: string; readonly kind: "person" | "organisation" };
  readonly personName: string;
};

export const pollSeconds = 5;
/** A clock of the program that is a little faster than ours. */
const toleranceSeconds = 0.5;
const tokenDays = 30;

const scopesOf: Readonly<Record<LoginPermission, readonly Scope[]>> = {
  read: ["vaults:read", "secrets:list", "secrets:read"],
  write: ["vaults:read", "secrets:list", "secrets:read", "secrets:write"],
};

/** The token for the code of a redirect. The code is used up by the first request, also with a wrong verifier. */
export async function exchangeCode(
  code: string,
  verifier: string,
  dependencies: FinishDependencies,
): Promise<FinishedLogin> {
  const login = await takeLogin(dependencies.database, hashCode("code", code, dependencies.serverKeys));
  if (login === undefined || login.isExpired || !isGenuineLogin(login, dependencies.serverKeys))
    throw refused("invalid_grant");
  const { codeChallenge } = login;
  if (codeChallenge === null || !isSameText(codeChallenge, pkceChallenge(verifier)))
    throw refused("invalid_grant");
  return issueToken(login, dependencies);
}

/** The token for a device code, once a person has approved it. */
export async function exchangeDeviceCode(
  deviceCode: string,
  dependencies: FinishDependencies,
): Promise<FinishedLogin> {
  const { database, serverKeys } = dependencies;
  const codeHash = hashCode("code", deviceCode, serverKeys);
  const polled = await pollLogin(database, codeHash, pollSeconds - toleranceSeconds);
  if (polled === undefined) throw refused("invalid_grant");
  if (polled.isExpired) throw refused("expired_token");
  if (!polled.isDecided) throw refused(polled.isTooEarly ? "slow_down" : "authorization_pending");
  const login = await takeLogin(database, codeHash);
  // The code of a redirect is not a device code.
  const isDevice = login !== undefined && login.userCodeHash !== null;
  if (!isDevice || !isGenuineLogin(login, serverKeys)) throw refused("invalid_grant");
  if (login.decision === "deny") throw refused("access_denied");
  return issueToken(login, dependencies);
}

async function issueToken(
  { machine, address, permission, ...login }: Login,
  dependencies: FinishDependencies,
): Promise<FinishedLogin> {
  if (login.decision !== "approve") throw refused("invalid_grant");
  const { accountId, personId, sessionId } = login;
  const [isActive, isSignedIn] = await Promise.all([
    isActiveAccount(personId, dependencies),
    isLiveSession(dependencies.database, { personId, sessionId }),
  ]);
  if (!isActive || !isSignedIn) throw refused("invalid_grant");
  const expiresAt = new Date(Date.now() + tokenDays * 86_400_000);
  const limits = { vaultIds: null, paths: null, addresses: null, expiresAt };
  const spec = { name: `Command line on ${machine}`, scopes: scopesOf[permission], ...limits };
  const request = { spec, idempotencyKey: undefined };
  const by = { kind: "session", id: sessionId, address } as const;
  const issued =
    accountId === personId
      ? await createToken({ ...by, accountId, grant: fullGrant }, request, dependencies)
      : await createMemberToken(
          await actorIn({ accountId, personId }, by, dependencies),
          { ...request, isOwn: true },
          dependencies,
        );
  const [account, person] = await Promise.all([
    readAccount(dependencies.database, accountId),
    readAccount(dependencies.database, personId),
  ]);
  return {
    ...issued,
    lifetimeSeconds: tokenDays * 86_400,
    account: {
      id: accountId,
      name: account?.display_name ?? "",
      kind: accountId === personId ? "person" : "organisation",
    },
    personName: person?.display_name ?? "",
  };
}

/** Refused when the person is no longer a member. */
async function actorIn(
  member: Pick<Decision, "accountId" | "personId">,
  by: Pick<Actor, "kind" | "id" | "address">,
  { findAccess }: Pick<FinishDependencies, "findAccess">,
): Promise<Actor> {
  const access = await findAccess(member);
  if (access === undefined) throw refused("invalid_grant");
  return { ...by, ...member, grant: access.grant };
}

function isSameText(one: string, other: string): boolean {
  const [first, second] = [Buffer.from(one), Buffer.from(other)];
  return first.length === second.length && timingSafeEqual(first, second);
}

const descriptions: Readonly<Record<Exclude<LoginError["error"], "invalid_request">, string>> = {
  invalid_grant: "The code is wrong, used or expired, or the person who approved it has lost access",
  authorization_pending: "The login has not been approved or denied yet",
  slow_down: `Send at most one request every ${pollSeconds} seconds`,
  access_denied: "The login was denied",
  expired_token: "The login was not approved in time",
};

function refused(error: keyof typeof descriptions): Error {
  return requestFailure({ kind: "exchange-refused", error, description: descriptions[error] });
}
