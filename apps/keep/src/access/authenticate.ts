/**
 * @module
 * Who calls, and whether they may: the one credential of a request becomes an Actor, decided on the matched row before
 * the body is read. Promises one answer for every credential that does not hold, and that no page of another site can
 * use a person's session.
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
import { refuseOtherSites } from "./same-origin.ts";

export type AccessDependencies = {
  /** Undefined when the token does not hold, for whatever reason. */
  readonly checkToken: CheckToken;
  /** Undefined when the session does not hold, for whatever reason. */
  readonly checkSession: (text: string, address: string) => Promise<Actor | undefined>;
  /** Where people reach Keep: the only origin whose pages may use a session. */
  readonly publicUrl: URL;
  readonly sessionCookie: string;
  readonly limits: RateLimits;
  /** Told who calls as soon as that is known, also when they may not do what they ask for. */
  readonly identified?: (head: RequestHead, actor: Actor) => void;
};

const freshMilliseconds = 15 * 60 * 1000;

/** Undefined for a row that anybody may call. */
export async function admit(
  head: RequestHead,
  row: AccessColumns,
  parts: AccessDependencies,
): Promise<Actor | undefined> {
  if (row.access === "public") {
    if (row.addressLimit !== undefined) parts.limits.takeFrom(head.clientAddress, row.addressLimit);
    return undefined;
  }
  const actor = await authenticate(head, parts);
  parts.identified?.(head, actor);
  parts.limits.take(head, actor);
  refuseUnlessAllowed(actor, row);
  const { vault } = head.parameters;
  // As if it were not there.
  if (vault !== undefined && !allowsVault(actor.grant, vault)) throw requestFailure({ kind: "not-found" });
  return actor;
}

async function authenticate(head: RequestHead, parts: AccessDependencies): Promise<Actor> {
  const credential = readCredential(head.headers, parts.sessionCookie);
  if (credential === "ambiguous") throw requestFailure({ kind: "credentials-ambiguous" });
  if (credential?.kind === "session") refuseOtherSites(head, parts.publicUrl);
  const actor = credential === undefined ? undefined : await check(credential, head.clientAddress, parts);
  if (actor === undefined) throw requestFailure({ kind: "unauthenticated" });
  return actor;
}

/**
 * An address that brought many credentials that do not hold has no more of them looked up for a while. A token that
 * this node remembers is taken all the same: its holder may share the address with whoever is guessing.
 */
async function check(
  { kind, text }: Credential,
  address: string,
  { checkToken, checkSession, limits: { badCredentials } }: AccessDependencies,
): Promise<Actor | undefined> {
  const retryAfterSeconds = badCredentials.secondsUntilNext(address);
  const mayAsk = retryAfterSeconds === 0;
  if (kind === "session" && !mayAsk) throw requestFailure({ kind: "rate-limited", retryAfterSeconds });
  const actor = await (kind === "token"
    ? checkToken(text, { address, mayQueryDatabase: mayAsk })
    : checkSession(text, address));
  if (actor !== undefined) return actor;
  if (!mayAsk) throw requestFailure({ kind: "rate-limited", retryAfterSeconds });
  badCredentials.count(address);
  return undefined;
}

function refuseUnlessAllowed(actor: Actor, row: AccessColumns): void {
  if (row.access === "public") return;
  const { kind, grant } = actor;
  const needed = row.access === "session" ? "session" : row.scope;
  if (kind === "token") {
    if (needed === "session") throw requestFailure({ kind: "session-required" });
    if (needed !== "any" && !grant.scopes.has(needed)) {
      throw requestFailure({ kind: "insufficient-scope", scope: needed });
    }
    return;
  }
  if (row.access === "fresh" && freshMillisecondsLeft(actor) < 0) {
    throw requestFailure({ kind: "sign-in-too-old" });
  }
}

/** Until a person's sign-in is too old for rows that need a fresh one; below zero when it is. */
export function freshMillisecondsLeft({ authenticatedAt }: Pick<Actor, "authenticatedAt">): number {
  return freshMilliseconds - (Date.now() - (authenticatedAt?.getTime() ?? 0));
}
