/**
 * @module
 * Authentication and access control: turns a request's credential into an Actor and checks it against the matched route
 * before the body is read. Guarantees that all invalid credentials get the same response, and that pages of other sites
 * cannot use a person's session.
 * Imported by `server.ts`.
 */
import type { RequestHead } from "@hearth-and-keep/http-service";
import type { Actor } from "../authorization/actor.ts";
import { allowsVault } from "../authorization/grant.ts";
import { requestFailure } from "../failures.ts";
import type { AccessColumns } from "../route-row.ts";
import type { CheckToken } from "../tokens/check-token.ts";
import { type Credential, readCredential } from "./credentials.ts";
import type { RateLimits } from "./rate-limits.ts";
import { assertSameOrigin } from "./same-origin.ts";

export type AccessDependencies = {
  /** Undefined when the token is not valid; the reason is not exposed. */
  readonly checkToken: CheckToken;
  /** Undefined when the session is not valid; the reason is not exposed. */
  readonly checkSession: (text: string, address: string) => Promise<Actor | undefined>;
  /** Keep's URL in a browser, the only origin whose pages may use a session. */
  readonly publicUrl: URL;
  readonly sessionCookie: string;
  readonly limits: RateLimits;
  /** Called once the credential is verified, before the access check. */
  readonly onAuthenticated?: (head: RequestHead, actor: Actor) => void;
};

const freshSignInMilliseconds = 15 * 60 * 1000;

/** Undefined for public routes. */
export async function admit(
  head: RequestHead,
  row: AccessColumns,
  dependencies: AccessDependencies,
): Promise<Actor | undefined> {
  if (row.access === "public") {
    if (row.addressLimit !== undefined)
      dependencies.limits.consumeForAddress(head.clientAddress, row.addressLimit);
    return undefined;
  }
  const actor = await authenticate(head, dependencies);
  dependencies.onAuthenticated?.(head, actor);
  dependencies.limits.consume(head, actor);
  assertAccess(actor, row);
  const { vault } = head.parameters;
  // Reported as missing, so that the token does not reveal which vaults exist.
  if (vault !== undefined && !allowsVault(actor.grant, vault)) throw requestFailure({ kind: "not-found" });
  return actor;
}

async function authenticate(head: RequestHead, dependencies: AccessDependencies): Promise<Actor> {
  const credential = readCredential(head.headers, dependencies.sessionCookie);
  if (credential === "ambiguous") throw requestFailure({ kind: "credentials-ambiguous" });
  if (credential?.kind === "session") assertSameOrigin(head, dependencies.publicUrl);
  const actor =
    credential === undefined ? undefined : await check(credential, head.clientAddress, dependencies);
  if (actor === undefined) throw requestFailure({ kind: "unauthenticated" });
  return actor;
}

/**
 * After too many invalid credentials from an address, no more are looked up for it for a while. Cached tokens are still
 * accepted, because their holders may share the address with an attacker.
 */
async function check(
  { kind, text }: Credential,
  address: string,
  { checkToken, checkSession, limits: { badCredentials } }: AccessDependencies,
): Promise<Actor | undefined> {
  const retryAfterSeconds = badCredentials.secondsUntilNext(address);
  const mayQueryDatabase = retryAfterSeconds === 0;
  if (kind === "session" && !mayQueryDatabase)
    throw requestFailure({ kind: "rate-limited", retryAfterSeconds });
  const actor = await (kind === "token"
    ? checkToken(text, { address, mayQueryDatabase })
    : checkSession(text, address));
  if (actor !== undefined) return actor;
  if (!mayQueryDatabase) throw requestFailure({ kind: "rate-limited", retryAfterSeconds });
  badCredentials.count(address);
  return undefined;
}

function assertAccess(actor: Actor, row: AccessColumns): void {
  if (row.access === "public") return;
  const { kind, grant } = actor;
  const requiredScope = row.access === "session" ? "session" : row.scope;
  if (kind === "token") {
    if (requiredScope === "session") throw requestFailure({ kind: "session-required" });
    if (requiredScope !== "any" && !grant.scopes.has(requiredScope)) {
      throw requestFailure({ kind: "insufficient-scope", scope: requiredScope });
    }
    return;
  }
  if (row.access === "fresh" && freshMillisecondsLeft(actor) < 0) {
    throw requestFailure({ kind: "sign-in-too-old" });
  }
}

/** Time until the sign-in is too old for routes that require a fresh one; negative when it already is. */
export function freshMillisecondsLeft({ authenticatedAt }: Pick<Actor, "authenticatedAt">): number {
  return freshSignInMilliseconds - (Date.now() - (authenticatedAt?.getTime() ?? 0));
}
