import { type AccountDependencies, findOrCreateAccount } from "../accounts/find-or-create-account.ts";
import { linkIdentity } from "../accounts/link-identity.ts";
import { resumePausedAccount } from "../accounts/pause-account.ts";
import type { OpenedAccount, Person } from "../accounts/person.ts";
import { findIdentity, refreshIdentity } from "../accounts/queries.ts";
import { recordAdmission } from "../accounts/record-admission.ts";
import { changeOperator } from "../accounts/suspend-account.ts";
import { type Admission, findAdmittingRule, formatIdentity } from "../admission/decide-admission.ts";
import type { Actor } from "../authorization/actor.ts";
import type { Database } from "../database/open-database.ts";
import { requestFailure } from "../failures.ts";
import type { ServerKeys } from "../keys/server-keys.ts";
import { useReservation } from "../organisations/accept-invitation.ts";
import { invitationPath } from "../organisations/invitation-code.ts";
import { fillTeams, type SkippedGroups } from "../organisations/teams/fill-teams.ts";
import { type Admitted, assertAdmitted, notAdmitted } from "./admit-person.ts";
import {
  attemptAssociatedData,
  authorizationRequestFor,
  callbackUrl,
  findProvider,
} from "./begin-sign-in.ts";
import type { AttemptSecrets, IdentityProviders, SignInSecrets } from "./identity-provider.ts";
import { type Attempt, consumeAttempt } from "./queries.ts";
import { hashText, isRandomToken } from "./random-tokens.ts";
import { revokeReplacedSessions } from "./revoke-sessions.ts";
import { type SessionClient, type SessionLimits, type StartedSession, startSession } from "./sessions.ts";

/** The provider's redirect back to Keep. */
export type SignInCallback = {
  readonly provider: string;
  readonly parameters: URLSearchParams;
  /** All values of the binder cookie. More than one means that another one was planted. */
  readonly binders: readonly string[];
  /** The person already signed in in this browser, if any. */
  readonly actor: Actor | undefined;
  readonly client: SessionClient;
};

export type FinishDependencies = AccountDependencies & {
  readonly database: Pick<Database, "query" | "queryInAccount" | "inAccount" | "acrossAccounts">;
  readonly serverKeys: Pick<ServerKeys, "decrypt">;
  readonly providers: IdentityProviders;
  readonly publicUrl: URL;
  readonly limits: SessionLimits;
  readonly admission: Admission;
};

/** The redirect target, and the new session unless an identity was linked. */
export type FinishedSignIn = {
  readonly returnTo: string;
  readonly session?: StartedSession;
  /** Why teams are not as the provider's groups say. */
  readonly skippedGroups?: SkippedGroups | undefined;
};

export async function finishSignIn(
  callback: SignInCallback,
  dependencies: FinishDependencies,
): Promise<FinishedSignIn> {
  const provider = findProvider(dependencies.providers, callback.provider);
  const { attempt, secrets, invitation } = await readAttempt(callback, provider.kind, dependencies);
  // Linking and confirming are started by a session, and only that session may finish them.
  if (attempt.purpose !== "sign-in" && attempt.sessionId !== callback.actor?.id)
    throw attemptInvalid(dependencies);
  const url = callbackUrl(provider.kind, dependencies.publicUrl);
  url.search = callback.parameters.toString();
  const authorizationRequest = authorizationRequestFor(provider, {
    secrets,
    purpose: attempt.purpose,
    publicUrl: dependencies.publicUrl,
  });
  const authentication = await provider.finish(url, authorizationRequest);
  const { person } = authentication;
  const { returnTo } = attempt;
  if (attempt.purpose === "link" && callback.actor !== undefined) {
    const { admission } = dependencies;
    const admittedBy =
      admission.mode === "rules"
        ? (findAdmittingRule(person, authentication.evidence, admission) ?? "none")
        : undefined;
    await linkIdentity(callback.actor, { person, admittedBy }, dependencies);
    return { returnTo };
  }
  const replaced = attempt.purpose === "confirm" ? callback.actor : undefined;
  if (replaced !== undefined) await assertSamePerson(person, replaced, dependencies);
  const { reservation, ...admitted } = await assertAdmitted(authentication, provider, {
    ...dependencies,
    invitation,
  });
  const context = { client: callback.client, replaced, ...admitted };
  const { session, accountId } = await signIn(person, context, dependencies);
  if (reservation !== undefined) {
    const actor = { accountId, kind: "session", id: session.id, address: callback.client.address } as const;
    await useReservation(actor, reservation, dependencies);
  }
  const skippedGroups =
    authentication.teamGroups === undefined
      ? undefined
      : await fillTeams({ personId: accountId, groups: authentication.teamGroups }, dependencies);
  const isOpenInvitation = invitation !== undefined && reservation === undefined;
  return { returnTo: isOpenInvitation ? invitationPath(invitation) : returnTo, session, skippedGroups };
}

type OpenedAttempt = {
  readonly attempt: Attempt;
  readonly secrets: SignInSecrets;
  readonly invitation: string | undefined;
};

async function readAttempt(
  { parameters, binders }: SignInCallback,
  provider: Attempt["provider"],
  dependencies: FinishDependencies,
): Promise<OpenedAttempt> {
  const [state, ...otherStates] = parameters.getAll("state");
  const [binder, ...otherBinders] = binders;
  const isComplete =
    state !== undefined &&
    binder !== undefined &&
    otherStates.length + otherBinders.length === 0 &&
    isRandomToken(state) &&
    isRandomToken(binder);
  if (!isComplete) throw attemptInvalid(dependencies);
  const key = { stateHash: hashText(state), binderHash: hashText(binder) };
  const attempt = await consumeAttempt(dependencies.database, key, provider);
  if (attempt === undefined) throw attemptInvalid(dependencies);
  const plaintext = dependencies.serverKeys
    .decrypt(attempt.sealed, attemptAssociatedData(key, attempt))
    .toString("utf8");
  // Encrypted by beginSignIn, which serialized this type.
  const { invitation, ...secrets } = JSON.parse(plaintext) as AttemptSecrets;
  return { attempt, secrets, invitation };
}

/**
 * The same error for an unknown, used or expired attempt, and for one of another provider or browser, so that the
 * response does not reveal which.
 */
function attemptInvalid({ publicUrl }: Pick<FinishDependencies, "publicUrl">) {
  const reason = `This sign-in has expired, was already used, or was started in another browser. Start again at ${publicUrl.origin}`;
  return requestFailure({ kind: "sign-in-refused", reason });
}

type SignInContext = Omit<Admitted, "reservation"> & {
  readonly client: SessionClient;
  readonly replaced: Actor | undefined;
};

const maxAttempts = 3;
const accountSuspended =
  "This account is suspended. Its vaults are kept; ask the operator of this Keep to resume it";

async function signIn(
  person: Person,
  { client, replaced, mayCreateAccount, admittedBy }: SignInContext,
  dependencies: FinishDependencies,
): Promise<{ readonly session: StartedSession; readonly accountId: string }> {
  for (let attempt = 1; ; attempt += 1) {
    const { accountId, identityId, isNew } = mayCreateAccount
      ? await findOrCreateAccount(person, dependencies)
      : await findExistingAccount(person, dependencies);
    const session = await dependencies.database.inAccount(accountId, async (transaction) => {
      if (dependencies.admission.operators.has(formatIdentity(person)))
        await changeOperator(transaction, { accountId, isOperator: true }, dependencies);
      const options = { accountId, identityId, person, client };
      await resumePausedAccount(transaction, options, dependencies);
      const started = await startSession(transaction, options, dependencies);
      if (typeof started === "string") return started;
      if (admittedBy !== undefined)
        await recordAdmission(transaction, { ...options, admittedBy }, dependencies);
      if (!isNew) await refreshIdentity(transaction, person, { accountId, identityId });
      await revokeReplacedSessions(transaction, { accountId, replaced }, dependencies);
      return started;
    });
    if (typeof session !== "string") return { session, accountId };
    // The account may have been deleted, or the identity unlinked, concurrently; the next attempt then creates a new one.
    if (attempt === maxAttempts) throw notStarted(session);
  }
}

/** The account may have been deleted, or the identity unlinked, since the person was admitted to it. */
async function findExistingAccount(
  person: Person,
  { database }: Pick<FinishDependencies, "database">,
): Promise<OpenedAccount> {
  const existing = await findIdentity(database, person);
  if (existing === undefined) throw notAdmitted(person, "invitation-required");
  return { ...existing, isNew: false };
}

function notStarted(reason: "account-inactive" | "identity-missing"): Error {
  // A route to an identity that does not exist was not written by Keep.
  if (reason === "identity-missing") return requestFailure({ kind: "integrity-broken" });
  return requestFailure({ kind: "sign-in-refused", reason: accountSuspended });
}

/** Reauthentication must be with the identity of the current session; any other identity is rejected. */
async function assertSamePerson(
  person: Person,
  { accountId, identityId }: Actor,
  { database }: FinishDependencies,
): Promise<void> {
  const stored = await findIdentity(database, person);
  if (stored?.accountId === accountId && stored.identityId === identityId) return;
  throw requestFailure({
    kind: "sign-in-refused",
    reason: "This is not the identity you are signed in with",
  });
}
