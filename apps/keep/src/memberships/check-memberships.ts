/**
 * @module
 * Checks of memberships: every few minutes, one node asks the code-hosting provider whether the people whom nothing but an
 * organization or a team admits are still members, and pauses the accounts of those who are not. Guarantees that no account
 * is paused for an answer that the provider did not give, unless it has given none for a day.
 * Imported by `background.ts` and `commands/serve.ts`.
 */
import type { PersonKey } from "../accounts/identity-mac.ts";
import { type PauseReason, pauseAccount } from "../accounts/pause-account.ts";
import { recordAdmission } from "../accounts/record-admission.ts";
import type { OperatorDependencies } from "../accounts/suspend-account.ts";
import { type Admission, isNamed } from "../admission/decide-admission.ts";
import type { Database } from "../database/open-database.ts";
import { repeatUntil } from "../repeat-until.ts";
import { listMembers, type Members } from "./find-members.ts";
import { type CheckFailure, createProviderRequests, type ProviderSource } from "./provider-requests.ts";
import {
  type CheckedAccount,
  type CheckedIdentity,
  claimCheck,
  extendCheck,
  finishCheck,
  listCheckedAccounts,
} from "./queries.ts";

export type MembershipSource = {
  readonly client: ProviderSource["client"];
  readonly api: URL;
  /** The issuer of identities of this provider. */
  readonly issuer: string;
  /** Read for every check, because the file may be replaced. Undefined when it cannot be read. */
  readonly readToken: () => Promise<string | undefined>;
};

export type CheckOutcome = "succeeded" | CheckFailure | "token-unreadable";

export type CheckDependencies = OperatorDependencies & {
  readonly database: Pick<Database, "query" | "inAccount" | "acrossAccounts">;
  readonly source: MembershipSource;
  readonly admission: Admission;
  readonly intervalMilliseconds: number;
  /** Milliseconds since 1970 by the database's clock. */
  readonly now: () => number;
  readonly onChecked: (outcome: CheckOutcome) => void;
  readonly onIntegrityError: (accountId: string) => void;
  /** Aborted at shutdown; another node does the rest. */
  readonly signal: AbortSignal;
};

const hour = 3_600_000;
/** Without a confirmed membership, access ends after this long. */
const leaseMilliseconds = 24 * hour;
/** A confirmation is stored when the last one is older, which shortens a lease by at most this much. */
const renewMilliseconds = hour;
/** After which another node starts the check of one that was killed. */
const maxClaimSeconds = 60;
const maxConcurrent = 3;

/** Runs the check if it is due and no other node runs it. */
export async function checkMemberships(dependencies: CheckDependencies): Promise<void> {
  const { database, intervalMilliseconds } = dependencies;
  const intervalSeconds = intervalMilliseconds / 1000;
  const claimSeconds = Math.min(intervalSeconds, maxClaimSeconds);
  if (!(await claimCheck(database, claimSeconds))) return;
  const startedAt = performance.now();
  const finished = new AbortController();
  const extending = repeatUntil(finished.signal, {
    milliseconds: (claimSeconds * 1000) / 3,
    run: () => extendCheck(database, claimSeconds),
    onError: () => undefined,
  });
  const errors: unknown[] = [];
  const { outcome, waitSeconds } = await runCheck(errors, dependencies).finally(() => finished.abort());
  await extending;
  const leftSeconds = Math.max(intervalSeconds - (performance.now() - startedAt) / 1000, waitSeconds, 0);
  const isComplete = !dependencies.signal.aborted;
  await finishCheck(database, {
    nextSeconds: isComplete ? leftSeconds : 0,
    hasSucceeded: isComplete && outcome === "succeeded" && errors.length === 0,
  });
  if (isComplete) dependencies.onChecked(outcome);
  if (errors.length > 0) throw errors[0];
}

type CheckResult = { readonly outcome: CheckOutcome; readonly waitSeconds: number };

async function runCheck(errors: unknown[], dependencies: CheckDependencies): Promise<CheckResult> {
  const { source, admission, signal } = dependencies;
  const token = await source.readToken();
  if (token === undefined) {
    await checkAccounts(unknownMembers, errors, dependencies);
    return { outcome: "token-unreadable", waitSeconds: 0 };
  }
  const requests = createProviderRequests({ ...source, token, signal });
  await checkAccounts(await listMembers(admission.organizations, requests), errors, dependencies);
  return { outcome: requests.failure() ?? "succeeded", waitSeconds: requests.waitSeconds() };
}

const unknownMembers: Members = { find: () => Promise.resolve("unknown") };

/** An error with one account does not stop the check of the others. */
async function checkAccounts(
  members: Members,
  errors: unknown[],
  dependencies: CheckDependencies,
): Promise<void> {
  const { database, signal } = dependencies;
  let after: string | undefined;
  for (;;) {
    const page = await listCheckedAccounts(database, after);
    if (page.length === 0) break;
    await forEachConcurrently(page, async (account) => {
      if (signal.aborted) return;
      await checkAccount(account, members, dependencies).catch((error: unknown) => errors.push(error));
    });
    if (signal.aborted) break;
    after = page.at(-1)?.accountId;
  }
}

/** One identity that is admitted keeps the account. */
async function checkAccount(
  { accountId, epoch, identities }: CheckedAccount,
  members: Members,
  dependencies: CheckDependencies,
): Promise<void> {
  const { database, admission, now, serverKeys } = dependencies;
  // A row that was changed in the database does not count.
  const genuine = identities.filter(({ mac, ...identity }) =>
    serverKeys.rowMacs.isGenuine({ identity, epoch }, mac),
  );
  if (genuine.length < identities.length) dependencies.onIntegrityError(accountId);
  if (genuine.some((identity) => needsNoCheck(identity, admission))) return;
  const leases = genuine.filter(({ admittedBy }) => admittedBy === "organization");
  let reason: PauseReason = "membership-ended";
  for (const identity of leases) {
    const answer = await askFor(identity, members, dependencies);
    const leftMilliseconds = (identity.confirmedAt?.getTime() ?? 0) + leaseMilliseconds - now();
    if (answer === "member") return renew(identity, leftMilliseconds, dependencies);
    if (answer === "unknown" && leftMilliseconds > 0) return;
    if (answer === "unknown") reason = "membership-unconfirmed";
  }
  const identityMacs = identities.map(({ mac }) => mac);
  await database.inAccount(accountId, (transaction) =>
    pauseAccount(transaction, { accountId, reason, identityMacs }, dependencies),
  );
}

/** Also for identities that signed in before admission was recorded, until they sign in again. */
function needsNoCheck(identity: CheckedIdentity, admission: Admission): boolean {
  const { admittedBy } = identity;
  return admittedBy === null || admittedBy === "other-rule" || isNamed(identity, admission);
}

/** Ids of another provider say nothing about people of this one. */
async function askFor(
  { provider, issuer, subject }: PersonKey,
  members: Members,
  { source }: Pick<CheckDependencies, "source">,
): ReturnType<Members["find"]> {
  const isOfProvider = provider === "code-hosting" && issuer === source.issuer;
  return isOfProvider ? members.find(subject) : "unknown";
}

async function renew(
  identity: CheckedIdentity,
  leftMilliseconds: number,
  { database, serverKeys }: CheckDependencies,
): Promise<void> {
  if (leftMilliseconds > leaseMilliseconds - renewMilliseconds) return;
  const { accountId, id: identityId } = identity;
  const admittedBy = "organization";
  const renewed = { accountId, identityId, person: identity, admittedBy, isRenewal: true } as const;
  await database.inAccount(accountId, (transaction) => recordAdmission(transaction, renewed, { serverKeys }));
}

async function forEachConcurrently<Item>(
  items: readonly Item[],
  work: (item: Item) => Promise<void>,
): Promise<void> {
  const waiting = items.values();
  const takeTurns = async (): Promise<void> => {
    for (const item of waiting) await work(item);
  };
  await Promise.all(Array.from({ length: maxConcurrent }, takeTurns));
}
