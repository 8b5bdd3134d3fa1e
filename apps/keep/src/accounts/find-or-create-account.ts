/**
 * @module
 * Accounts: how one comes into being at a person's first sign-in, and how it ends with everything that belongs to it.
 * Promises that one person has one account, however many of their first sign-ins happen at once.
 * Imported by `sign-in/` and by handlers of the account itself.
 */
import type { AuditLog } from "../audit/audit-log.ts";
import type { Database } from "../database/open-database.ts";
import { generateId } from "../generate-id.ts";
import type { VaultKeys } from "../keys/vault-keys.ts";
import type { AccountEntry, Person } from "./person.ts";
import { claimIdentity, findIdentity, insertAccount, insertIdentity, insertVault } from "./queries.ts";

export type AccountDependencies = {
  readonly database: Pick<Database, "ask" | "inAccount">;
  readonly vaultKeys: VaultKeys;
  readonly audit: AuditLog;
};

/** The person's account; at their first sign-in account, identity, personal vault, data key and record in one go. */
export async function openAccount(person: Person, parts: AccountDependencies): Promise<AccountEntry> {
  const known = await findIdentity(parts.database, person);
  if (known !== undefined) return { ...known, isNew: false };
  const made = { accountId: generateId(), identityId: generateId() };
  const isFirst = await parts.database.inAccount(made.accountId, async (transaction) => {
    // Waits for a first sign-in of the same person that is under way; false when that one was first.
    if (!(await claimIdentity(transaction, person, made))) return false;
    await insertAccount(transaction, made.accountId, person.displayName);
    await insertIdentity(transaction, person, made);
    const place = { accountId: made.accountId, vaultId: generateId() };
    await insertVault(transaction, place, "Personal");
    await parts.vaultKeys.create(transaction, place);
    const by = "server";
    await parts.audit.record(transaction, {
      chain: place.vaultId,
      by,
      event: { type: "vault-created", vault: place.vaultId, name: "Personal" },
    });
    await parts.audit.record(transaction, { chain: made.accountId, by, event: { type: "account-created" } });
    return true;
  });
  return isFirst ? { ...made, isNew: true } : openAccount(person, parts);
}
