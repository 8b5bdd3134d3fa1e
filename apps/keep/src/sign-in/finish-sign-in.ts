import { linkIdentity } from "../accounts/link-identity.ts";
import { type AccountDependencies, openAccount } from "../accounts/find-or-create-account.ts";
import type { Person } from "../accounts/person.ts";
import { findIdentity, refreshIdentity } from "../accounts/queries.ts";
import type { Actor } from "../authorization/actor.ts";
import type { Database } from "../database/open-database.ts";
import { requestFailure } from "../failures.ts";
import type { ServerKeys } from "../keys/server-keys.ts";
import { attemptContext, callbackUrl, departureFor, findProvider } from "./begin-sign-in.ts";
import type { IdentityProviders, SignInSecrets } from "./identity-provider.ts";
import { type Attempt, useUpAttempt } from "./queries.ts";
import { hashText, isSecretText } from "./random-tokens.ts";
import {
  endSessions,
  type SessionLimits,
  type StartedSession,
  startSession,
  type Visitor,
} from "./sessions.ts";

/** A browser that comes back from a provider. */
export type Return = {
  readonly provider: string;
  readonly parameters: URLSearchParams;
  /** Every value that the browser has for its binder; one that has two was tampered with. */
  readonly binders: readonly string[];
  /** Who is signed in there already, if anybody. */
  readonly actor: Actor | undefined;
  readonly visitor: Visitor;
};

export type FinishDependencies = AccountDependencies & {
  readonly database: Pick<Database, "ask" | "askInAccount" | "inAccount">;
  readonly serverKeys: Pick<ServerKeys, "open">;
  readonly providers: IdentityProviders;
  readonly publicUrl: URL;
  readonly limits: SessionLimits;
};

/** Where the browser goes next; a session only when a new one began. */
export type FinishedSignIn = { readonly returnTo: string; readonly session?: StartedSession };

export async function finishSignIn(back: Return, parts: FinishDependencies): Promise<FinishedSignIn> {
  const provider = findProvider(parts.providers, back.provider);
  const { attempt, secrets } = await takeAttempt(back, provider.kind, parts);
  // Somebody who is signed in began it, so the same session must end it.
  if (attempt.purpose !== "sign-in" && attempt.sessionId !== back.actor?.id) throw begunElsewhere(parts);
  const callback = callbackUrl(provider.kind, parts.publicUrl);
  callback.search = back.parameters.toString();
  const departure = departureFor(provider, { secrets, purpose: attempt.purpose, publicUrl: parts.publicUrl });
  const person = await provider.finish(callback, departure);
  const { returnTo } = attempt;
  if (attempt.purpose === "link" && back.actor !== undefined) {
    await linkIdentity(back.actor, person, parts);
    return { returnTo };
  }
  const replaced = attempt.purpose === "confirm" ? back.actor : undefined;
  return { returnTo, session: await enter(person, { visitor: back.visitor, replaced }, parts) };
}

async function takeAttempt(
  { parameters, binders }: Return,
  provider: Attempt["provider"],
  parts: FinishDependencies,
): Promise<{ readonly attempt: Attempt; readonly secrets: SignInSecrets }> {
  const [state, ...otherStates] = parameters.getAll("state");
  const [binder, ...otherBinders] = binders;
  const isWhole =
    state !== undefined &&
    binder !== undefined &&
    otherStates.length + otherBinders.length === 0 &&
    isSecretText(state) &&
    isSecretText(binder);
  if (!isWhole) throw begunElsewhere(parts);
  const stateHash = hashText(state);
  const key = { stateHash, binderHash: hashText(binder) };
  const attempt = await useUpAttempt(parts.database, key, provider);
  if (attempt === undefined) throw begunElsewhere(parts);
  const opened = parts.serverKeys.open(attempt.sealed, attemptContext(stateHash)).toString("utf8");
  // Sealed by beginSignIn, which wrote exactly this.
  return { attempt, secrets: JSON.parse(opened) as SignInSecrets };
}

/** One for unknown, used, too late, another provider's and another browser's: nobody learns which. */
function begunElsewhere({ publicUrl }: Pick<FinishDependencies, "publicUrl">) {
  const reason = `This sign-in was not begun in this browser, was used already, or took too long. Begin again at ${publicUrl.origin}`;
  return requestFailure({ kind: "sign-in-refused", reason });
}

type Entry = { readonly visitor: Visitor; readonly replaced: Actor | undefined };

const mostAttempts = 3;

async function enter(
  person: Person,
  { visitor, replaced }: Entry,
  parts: FinishDependencies,
): Promise<StartedSession> {
  if (replaced !== undefined) await refuseOtherPerson(person, replaced, parts);
  for (let attempt = 1; ; attempt += 1) {
    const { accountId, identityId, isNew } = await openAccount(person, parts);
    const session = await parts.database.inAccount(accountId, async (transaction) => {
      const plan = { accountId, identityId, provider: person.provider, visitor };
      const started = await startSession(transaction, plan, parts);
      if (started === undefined) return undefined;
      if (!isNew) await refreshIdentity(transaction, person, { accountId, identityId });
      if (replaced !== undefined) {
        await endSessions(transaction, { by: replaced, which: { only: replaced.id } }, parts);
      }
      return started;
    });
    if (session !== undefined) return session;
    // The account may have been deleted just now; then the person begins a new one.
    if (attempt === mostAttempts) {
      throw requestFailure({ kind: "sign-in-refused", reason: "This account is disabled" });
    }
  }
}

/** To confirm is to prove again that one is the person who signed in, not that one is somebody. */
async function refuseOtherPerson(
  person: Person,
  { accountId, identityId }: Actor,
  { database }: FinishDependencies,
): Promise<void> {
  const known = await findIdentity(database, person);
  if (known?.accountId === accountId && known.identityId === identityId) return;
  throw requestFailure({ kind: "sign-in-refused", reason: "That is not who is signed in here" });
}
