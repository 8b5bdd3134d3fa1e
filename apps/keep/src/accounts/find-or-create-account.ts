/**
 * @module
 * Accounts: creation at a person's first sign-in, linked identities, and deletion with everything in it. Guarantees
 * that concurrent first sign-ins of one person create a single account.
 * Imported by `sign-in/`, and by `routes.ts` for the account's own handlers.
 */
import type { AuditLog } from "../audit/audit-log.ts";
import type { Database } from "../database/open-database.ts";
import { generateId } from "../generate-id.ts";
import type { ServerKeys } from "../keys/server-keys.ts";
import type { VaultHeads } from "../keys/vault-heads/vault-heads.ts";
import type { VaultKeys } from "../keys/vault-keys.ts";
import { insertNewVault } from "../vaults/create-vault.ts";
import { signIdentity } from "./identity-mac.ts";
import type { OpenedAccount, Person } from "./person.ts";
import { claimIdentity, findIdentity, insertAccount, insertIdentity } from "./queries.ts";

export type AccountDependencies = {
  readonly database: Pick<Database, "query" | "inAccount">;
  readonly vaultKeys: VaultKeys;
  readonly vaultHeads: Pick<VaultHeads, "sealEmpty">;
  readonly audit: AuditLog;
  readonly serverKeys: Pick<ServerKeys, "rowMacs">;
};

/** The first sign-in creates account, identity, personal vault, data key and audit records in one transaction. */
export async function findOrCreateAccount(
  person: Person,
  dependencies: AccountDependencies,
): Promise<OpenedAccount> {
  const existing = await findIdentity(dependencies.database, person);
  if (existing !== undefined) return { ...existing, isNew: false };
  const ids = { accountId: generateId(), identityId: generateId() };
  const isCreated = await dependencies.database.inAccount(ids.accountId, async (transaction) => {
    // Waits for a concurrent first sign-in of the same person; false when that one won.
    if (!(await claimIdentity(transaction, person, ids))) return false;
    const account = {
      accountId: ids.accountId,
      kind: "person",
      status: "active",
      isOperator: false,
      epoch: 1,
    } as const;
    const { rowMacs } = dependencies.serverKeys;
    const mac = rowMacs.compute({ account });
    await insertAccount(transaction, account, { displayName: person.displayName, mac });
    const identityMac = signIdentity(person, { ...ids, epoch: account.epoch }, rowMacs);
    await insertIdentity(transaction, person, { ...ids, mac: identityMac });
    const vaultRef = { accountId: ids.accountId, vaultId: generateId() };
    await insertNewVault(transaction, vaultRef, {
      kind: "personal",
      name: "Personal",
      revision: 0,
      ...dependencies,
    });
    const by = "server";
    dependencies.audit.record(
      transaction,
      { ...vaultRef, by, event: { type: "vault-created", vault: vaultRef.vaultId, name: "Personal" } },
      { accountId: ids.accountId, by, event: { type: "account-created" } },
    );
    return true;
  });
  return isCreated ? { ...ids, isNew: true } : findOrCreateAccount(person, dependencies);
}
