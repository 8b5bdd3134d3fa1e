/**
 * @module
 * Authentication and access control: turns a request's credential into an Actor and checks it against the matched route
 * before the body is read. Guarantees that all invalid credentials get the same response, and that pages of other sites
 * cannot use a person's session.
 * Imported by `server.ts`.
 */
import type { RequestHead } from "@hearth-and-keep/http-service";
import type { Actor } from "../authorization/actor.ts";
import { allowsReach, allowsScope, allowsVault } from "../authorization/grant.ts";
import type { FindAccess, MemberAccess } from "../authorization/member-access.ts";
import { roleAllows } from "../authorization/roles.ts";
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
  /** What a person may do in an organisation. */
  readonly findAccess: FindAccess;
  /** The organisation of a vault, if the person may be a member of it. */
  readonly findVaultRoute: (route: {
    readonly vaultId: string;
    readonly personId: string;
  }) => Promise<string | undefined>;
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
    const { organisation = "" } = head.parameters;
    const member = isId(organisation)
      ? await enterOrganisation(actor, organisation, dependencies)
      : undefined;
    if (member !== undefined) dependencies.onAuthenticated?.(head, member.actor);
    assertFreshFor(actor, row);
    if (member === undefined) throw requestFailure({ kind: "not-found" });
    if (!roleAllows(member.role, row.right)) throw requestFailure({ kind: "role-required" });
    return member.actor;
  }
  const { vault } = head.parameters;
  if (vault !== undefined) return enterVault(actor, { vault, head, row }, dependencies);
  assertFreshFor(actor, row);
  return actor;
}

const freshAccess: ReadonlySet<AccessColumns["access"]> = new Set([
  "fresh",
  "fresh-operator",
  "fresh-member",
]);

/** Once it is known which account the request enters, because the refusal is recorded in its log. */
function assertFreshFor(actor: Actor, { access }: AccessColumns): void {
  if (actor.kind === "session" && freshAccess.has(access)) assertFresh(actor);
}

/**
 * The same for a request whose body arrived slowly: whoever keeps it back until they have lost access, or until their token
 * was revoked, has no access either. Counts against no limit, because the request is counted already.
 */
export function admitAgain(
  head: RequestHead,
  row: AccessColumns,
  dependencies: AccessDependencies,
): Promise<Actor | undefined> {
  const limits = { ...dependencies.limits, consume: () => undefined, consumeForAddress: () => undefined };
  return admit(head, row, { ...dependencies, limits });
}

/** The person as an actor in the organisation, with what their role and grants allow there; undefined for other people. */
async function enterOrganisation(
  { kind, id, accountId: personId, address, authenticatedAt }: Actor,
  organisation: string,
  { findAccess }: AccessDependencies,
): Promise<{ readonly actor: Actor; readonly role: MemberAccess["role"] } | undefined> {
  const access = await findAccess({ accountId: organisation, personId });
  if (access === undefined) return undefined;
  const { role, grant } = access;
  const signIn = authenticatedAt === undefined ? {} : { authenticatedAt };
  return { actor: { kind, id, accountId: organisation, personId, address, grant, ...signIn }, role };
}

type VaultRequest = AdmittedRequest & { readonly vault: string };

/** The actor in the account of the vault. A vault in which the caller may do nothing is reported as not found. */
async function enterVault(
  caller: Actor,
  { vault, head, row }: VaultRequest,
  dependencies: AccessDependencies,
): Promise<Actor> {
  const { accountId: personId } = caller;
  const organisation =
    caller.kind === "session" && isId(vault)
      ? await dependencies.findVaultRoute({ vaultId: vault, personId })
      : undefined;
  const member =
    organisation === undefined ? undefined : await enterOrganisation(caller, organisation, dependencies);
  // A vault that is hidden from a member is looked for in their own account, as any other that is not there.
  const isHidden = member !== undefined && !allowsVault(member.actor.grant, vault);
  const actor = isHidden ? caller : (member?.actor ?? caller);
  if (actor !== caller) dependencies.onAuthenticated?.(head, actor);
  assertFreshFor(actor, row);
  if (isHidden) return caller;
  if (!allowsVault(actor.grant, vault)) throw requestFailure({ kind: "vault-not-allowed" });
  const scope = "scope" in row ? row.scope : "session";
  if (scope === "session" || scope === "any" || allowsReach(actor.grant, { scope, vaultId: vault }))
    return actor;
  throw requestFailure(
    member === undefined ? { kind: "insufficient-scope", scope } : { kind: "role-required" },
  );
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
    if (requiredScope !== "any" && !allowsScope(grant, requiredScope)) {
      throw requestFailure({ kind: "insufficient-scope", scope: requiredScope });
    }
    return;
  }
  const isForOperators = row.access === "operator" || row.access === "fresh-operator";
  if (isForOperators && actor.isOperator !== true) throw requestFailure({ kind: "operator-required" });
}

/** For routes of which only some requests require a recent sign-in. */
export function assertFresh(actor: Pick<Actor, "authenticatedAt">): void {
  if (freshMillisecondsLeft(actor) < 0) throw requestFailure({ kind: "sign-in-too-old" });
}

/** Time until the sign-in is too old for routes that require a fresh one; negative when it already is. */
export function freshMillisecondsLeft({ authenticatedAt }: Pick<Actor, "authenticatedAt">): number {
  return freshSignInMilliseconds - (Date.now() - (authenticatedAt?.getTime() ?? 0));
}
