import { FailureError } from "@hearth-and-keep/failures";
import { deleteAnyAccount } from "../accounts/delete-account.ts";
import { changeOperator, resumeAccount, suspendAccount } from "../accounts/suspend-account.ts";
import { createAuditLog } from "../audit/audit-log.ts";
import { auditOrigin, openNodeLog } from "../audit/node-log.ts";
import { createPartitions } from "../audit/queries.ts";
import { awaitRevocation } from "../cluster/await-revocation.ts";
import type { Database } from "../database/open-database.ts";
import type { Transaction } from "../database/transaction.ts";
import { isId } from "../generate-id.ts";
import { checkKey } from "../keys/check-key.ts";
import type { KeyWrapper } from "../keys/key-wrapper.ts";
import { openServerKeys } from "../keys/server-keys.ts";
import { findManagedAccount, listAccounts, type ManagedAccount } from "../operators/queries.ts";
import { leaveOrganisations } from "../organisations/leave-organisations.ts";
import { asRequestFailure } from "../problems.ts";
import { exitCodes } from "./trusted-files.ts";

export type AccountCommandDependencies = {
  readonly database: Database;
  readonly wrapper: KeyWrapper;
  readonly print: (line: string) => void;
};

export const accountChanges = ["suspend", "resume", "delete", "add-operator", "remove-operator"] as const;
type AccountChange = (typeof accountChanges)[number];

export const accountChangeDescriptions: Readonly<Record<AccountChange, string>> = {
  suspend: "End the sessions of an account, and refuse its sign-ins and tokens until it is resumed",
  resume: "Accept sign-ins and tokens of a suspended account again",
  delete: "Permanently delete an account and everything in it",
  "add-operator": "Let the people of an account manage accounts",
  "remove-operator": "Make an operator's account an ordinary one",
};

type AccountChangeRequest = {
  readonly accountId: string;
  readonly change: AccountChange;
  /** The display name, which a deletion must repeat. */
  readonly confirmation: string | undefined;
};

const pageItems = 200;
const pausedExplanation =
  "paused because the membership in the organizations that admit its people ended, or could not be confirmed for a day; the next admitted sign-in resumes it";

/** One line per account. */
export async function printAccounts({
  database,
  print,
}: Pick<AccountCommandDependencies, "database" | "print">): Promise<number> {
  let after: string | null = null;
  for (;;) {
    const page: readonly ManagedAccount[] = await listAccounts(database, {
      after,
      status: null,
      limit: pageItems,
    });
    for (const account of page) print(describeLine(account));
    if (page.length < pageItems) return exitCodes.valid;
    after = page.at(-1)?.id ?? null;
  }
}

export async function printAccount(
  accountId: string,
  { database, print }: Pick<AccountCommandDependencies, "database" | "print">,
): Promise<number> {
  const account = await findAccount(accountId, database);
  if (account === undefined) return reportMissing(accountId, print);
  print(describeLine(account));
  if (account.status === "paused") print(pausedExplanation);
  print(`created ${account.created_at.toISOString()}`);
  for (const { provider, subject, issuer, login, email, last_sign_in_at } of account.identities) {
    const names = [login, email].filter((name) => name !== null).join(", ");
    const signedIn = new Date(last_sign_in_at).toISOString();
    print(
      `identity ${provider}:${subject} of ${issuer}${names === "" ? "" : ` (${names})`}, signed in ${signedIn}`,
    );
  }
  return exitCodes.valid;
}

/** Changes an account, and waits until no node accepts what the change ends. Returns the exit code. */
export async function runAccountChange(
  { accountId, change, confirmation }: AccountChangeRequest,
  { database, wrapper: given, print }: AccountCommandDependencies,
): Promise<number> {
  const account = await findAccount(accountId, database);
  if (account === undefined) return reportMissing(accountId, print);
  if (change === "delete" && confirmation !== account.display_name) {
    print(
      `Cannot delete: repeat the account's display name, --confirm ${JSON.stringify(account.display_name)}`,
    );
    return exitCodes.invalid;
  }
  const serverKeys = await openServerKeys(database, await checkKey(given, database));
  await createPartitions(database);
  await using nodeLog = await openNodeLog({
    database,
    serverKeys,
    originPrefix: auditOrigin({ publicUrl: undefined }),
  });
  const audit = createAuditLog({ database, rowMacs: serverKeys.rowMacs, nodeLog });
  const work = changes[change];
  try {
    if (change === "delete")
      await leaveOrganisations({ personId: accountId, by: "server" }, { database, audit, serverKeys });
    await database.inAccount(accountId, (transaction) => work(transaction, accountId, { audit, serverKeys }));
    await awaitRevocation(database);
  } catch (error) {
    print(`Cannot ${change}: ${reasonOf(error)}`);
    return exitCodes.invalid;
  }
  print(`${results[change]} ${accountId} (${account.display_name})`);
  return exitCodes.valid;
}

type ChangeDependencies = Parameters<typeof suspendAccount>[2];

const operator = "command-line";

const changes: Readonly<
  Record<
    AccountChange,
    (transaction: Transaction, accountId: string, dependencies: ChangeDependencies) => Promise<void>
  >
> = {
  suspend: (transaction, accountId, dependencies) =>
    suspendAccount(transaction, { accountId, operator }, dependencies),
  resume: (transaction, accountId, dependencies) =>
    resumeAccount(transaction, { accountId, operator }, dependencies),
  delete: (transaction, accountId, dependencies) => deleteAnyAccount(transaction, accountId, dependencies),
  "add-operator": (transaction, accountId, dependencies) =>
    changeOperator(transaction, { accountId, isOperator: true }, dependencies),
  "remove-operator": (transaction, accountId, dependencies) =>
    changeOperator(transaction, { accountId, isOperator: false }, dependencies),
};

const results: Readonly<Record<AccountChange, string>> = {
  suspend: "Suspended",
  resume: "Resumed",
  delete: "Deleted",
  "add-operator": "Now an operator:",
  "remove-operator": "No longer an operator:",
};

async function findAccount(accountId: string, database: Database): Promise<ManagedAccount | undefined> {
  return isId(accountId) ? findManagedAccount(database, accountId) : undefined;
}

/** Rethrows errors that are not expected. */
function reasonOf(error: unknown): string {
  if (!(error instanceof FailureError)) throw error;
  const { kind } = asRequestFailure(error);
  if (kind === "integrity-broken")
    return "the account was changed outside Keep; 'keep audit verify --database' shows what was changed";
  if (kind === "last-owner")
    return "the person is the only owner of an organisation; make another member an owner, or delete the organisation";
  if (kind === "nodes-behind")
    return "the change is committed, but a node has not confirmed it; repeat the command to wait again";
  if (kind === "conflict")
    return "the account is paused; it resumes when one of its people is admitted and signs in";
  return "the database is not available";
}

function reportMissing(accountId: string, print: (line: string) => void): number {
  print(`Account "${accountId}" not found; 'keep account list' lists the accounts`);
  return exitCodes.invalid;
}

function describeLine({
  id,
  status,
  is_operator: isOperator,
  identities,
  display_name,
  kind,
}: ManagedAccount): string {
  const state = status === "disabled" ? "suspended" : status;
  if (kind === "organisation")
    return [id, `${state},organisation`, "", JSON.stringify(display_name)].join("  ");
  const signedIn = identities.map(({ provider, subject }) => `${provider}:${subject}`).join(",");
  return [id, isOperator ? `${state},operator` : state, signedIn, JSON.stringify(display_name)].join("  ");
}
