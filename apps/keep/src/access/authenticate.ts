/**
 * @module
 * Authentication and access control: turns a request's credential into an Actor and checks it against the matched route
 * before the body is read. Guarantees that all invalid credentials get the same response, and that pages of other sites
 * cannot use a person's session.
 * Imported by `server.ts`.
 */
import type { RequestHead } from "@hearth-and-keep/http-service";
import type { Actor } from "../authorization/actor.ts";
import { allowsVault, emptyGrant } from "../authorization/grant.ts";
import { type Role, roleAllows } from "../authorization/roles.ts";
import { requestFailure } from "../failures.ts";
import { isId } from "../generate-id.ts";
import type { AccessColumns } from "../route-row.ts";
import type { CheckToken, TokenUse } from "../tokens/check-token.ts";
import { type Credential, readCredential } from "./credentials.ts";
import type { RateLimits } from "./rate-limits.ts";
import { assertSameOrigin } from "./same-origin.ts";

export type AccessDependencies = {
  /** Undefined when the token is not valid; the reason is not exposed. */
  readonly checkToken: CheckToken;
  /** Undefined when the session is not valid; the reason is not exposed. */
  readonly checkSession: (text: string, address: string) => Promise<Actor | undefined>;
  /** The person's role in an organisation; undefined when they are not a member of it. */
  readonly findRole: (organisation: string, person: string) => Promise<Role | undefined>;
  /** Whether such a credential was ever issued; cheap for many at once. */
  readonly isStored: (credential: Credential) => Promise<boolean>;
  /** Keep's URL in a browser, the only origin whose pages may use a session. */
  readonly publicUrl: URL;
  readonly sessionCookie: string;
  readonly limits: RateLimits;
  /** Called once the credential is verified, before the access check. */
  readonly onAuthenticated?: (head: RequestHead, actor: Actor) => void;
  /** Called when a token that exists is rejected. */
  readonly onMisuse?: (request: AdmittedRequest, ...misuse: Parameters<MisuseListener>) => void;
};

type MisuseListener = NonNullable<TokenUse["onMisuse"]>;

/** A request and the row that it matched. */
type AdmittedRequest = { readonly head: RequestHead; readonly row: AccessColumns };

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
  const actor = await authenticate({ head, row }, dependencies);
  dependencies.onAuthenticated?.(head, actor);
  dependencies.limits.consume(head, actor);
  assertAccess(actor, row);
  if (row.access === "member" || row.access === "fresh-member") {
    const member = await enterOrganisation(actor, head, dependencies);
    dependencies.onAuthenticated?.(head, member.actor);
    if (!roleAllows(member.role, row.right)) throw requestFailure({ kind: "role-required" });
    return member.actor;
  }
  const { vault } = head.parameters;
  if (vault !== undefined && !allowsVault(actor.grant, vault)) {
    throw requestFailure({ kind: "vault-not-allowed" });
  }
  return actor;
}

/** The person as an actor in the organisation that the path names. Throws "not found" for other people. */
async function enterOrganisation(
  { kind, id, accountId: personId, address }: Actor,
  { parameters: { organisation = "" } }: RequestHead,
  { findRole }: AccessDependencies,
): Promise<{ readonly actor: Actor; readonly role: Role }> {
  const role = isId(organisation) ? await findRole(organisation, personId) : undefined;
  if (role === undefined) throw requestFailure({ kind: "not-found" });
  // A role gives rights over the organisation, and none over what is in its vaults.
  return { actor: { kind, id, accountId: organisation, personId, address, grant: emptyGrant }, role };
}

async function authenticate(request: AdmittedRequest, dependencies: AccessDependencies): Promise<Actor> {
  const { head } = request;
  const credential = readCredential(head.headers, dependencies.sessionCookie);
  if (credential === "ambiguous") throw requestFailure({ kind: "credentials-ambiguous" });
  if (credential?.kind === "session") assertSameOrigin(head, dependencies.publicUrl);
  const actor = credential === undefined ? undefined : await check(credential, request, dependencies);
  if (actor === undefined) throw requestFailure({ kind: "unauthenticated" });
  return actor;
}

/**
 * After too many invalid credentials from an address, its further invalid ones get 429 for a while and are looked up
 * together. Valid ones are still accepted, because their holders may share the address with an attacker.
 */
async function check(
  credential: Credential,
  request: AdmittedRequest,
  dependencies: AccessDependencies,
): Promise<Actor | undefined> {
  const address = request.head.clientAddress;
  const onMisuse: MisuseListener = (by, reason) => dependencies.onMisuse?.(request, by, reason);
  const { badCredentials } = dependencies.limits;
  const retryAfterSeconds = badCredentials.secondsUntilNext(address);
  if (retryAfterSeconds === 0) {
    const actor = await verify(credential, { address, onMisuse, mayQueryDatabase: true }, dependencies);
    if (actor === undefined) badCredentials.count(address);
    return actor;
  }
  const actor =
    (await verify(credential, { address, onMisuse, mayQueryDatabase: false }, dependencies)) ??
    ((await dependencies.isStored(credential))
      ? await verify(credential, { address, onMisuse, mayQueryDatabase: true }, dependencies)
      : undefined);
  if (actor === undefined) throw requestFailure({ kind: "rate-limited", retryAfterSeconds });
  return actor;
}

async function verify(
  { kind, text }: Credential,
  use: TokenUse,
  { checkToken, checkSession }: AccessDependencies,
): Promise<Actor | undefined> {
  if (kind === "token") return checkToken(text, use);
  // Sessions are not cached.
  return use.mayQueryDatabase ? checkSession(text, use.address) : undefined;
}

function assertAccess(actor: Actor, row: AccessColumns): void {
  if (row.access === "public") return;
  const { kind, grant } = actor;
  const requiredScope = "scope" in row ? row.scope : "session";
  if (kind === "token") {
    if (requiredScope === "session") throw requestFailure({ kind: "session-required" });
    if (requiredScope !== "any" && !grant.scopes.has(requiredScope)) {
      throw requestFailure({ kind: "insufficient-scope", scope: requiredScope });
    }
    return;
  }
  const isForOperators = row.access === "operator" || row.access === "fresh-operator";
  if (isForOperators && actor.isOperator !== true) throw requestFailure({ kind: "operator-required" });
  const isForFreshSignIns =
    row.access === "fresh" || row.access === "fresh-operator" || row.access === "fresh-member";
  if (isForFreshSignIns && freshMillisecondsLeft(actor) < 0) {
    throw requestFailure({ kind: "sign-in-too-old" });
  }
}

/** Time until the sign-in is too old for routes that require a fresh one; negative when it already is. */
export function freshMillisecondsLeft({ authenticatedAt }: Pick<Actor, "authenticatedAt">): number {
  return freshSignInMilliseconds - (Date.now() - (authenticatedAt?.getTime() ?? 0));
}
