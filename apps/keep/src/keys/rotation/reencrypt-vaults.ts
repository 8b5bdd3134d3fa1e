import { setTimeout as sleep } from "node:timers/promises";
import type { AuditLog } from "../../audit/audit-log.ts";
import { notifyNodes } from "../../cluster/queries.ts";
import type { Database } from "../../database/open-database.ts";
import { reencryptChanges } from "../../secrets/approvals/reencrypt-changes.ts";
import { reencryptSecret } from "../../secrets/reencrypt-secret.ts";
import { reportIntegrityError } from "../../secrets/report-integrity-error.ts";
import { SecretIntegrityError } from "../../secrets/secret-mac.ts";
import type { VaultHeads } from "../vault-heads/vault-heads.ts";
import type { VaultKeys } from "../vault-keys.ts";
import {
  claimOperation,
  destroyRetiredKeys,
  finishOperation,
  listSecretsToReencrypt,
  listWaitingOperations,
  lockVault,
  type OperationRef,
  recordProgress,
} from "./queries.ts";

export type ReencryptDependencies = {
  readonly database: Pick<Database, "inAccount" | "acrossAccounts">;
  readonly vaultKeys: VaultKeys;
  readonly vaultHeads: VaultHeads;
  readonly audit: AuditLog;
  /** Aborted at shutdown; another node continues the work. */
  readonly signal: AbortSignal;
};

/** Time for concurrent reads that fetched a row before its re-encryption to fetch the old key. */
const graceSeconds = 3;

/** One pass: continues every operation that no live node is working on. */
export async function reencryptVaults(dependencies: ReencryptDependencies): Promise<void> {
  for (const operationRef of await listWaitingOperations(dependencies.database)) {
    if (dependencies.signal.aborted) return;
    if (await claimOperation(dependencies.database, operationRef))
      await reencryptVault(operationRef, dependencies);
  }
}

async function reencryptVault(
  operationRef: OperationRef,
  dependencies: ReencryptDependencies,
): Promise<void> {
  const { signal } = dependencies;
  const broken: string[] = [];
  for (;;) {
    const remaining = await listRemaining(operationRef, broken, dependencies);
    if (remaining === "vault-gone") return;
    for (const secretId of remaining) {
      if (signal.aborted) return;
      if (!(await reencryptOne(operationRef, secretId, dependencies))) broken.push(secretId);
    }
    if (remaining.length > 0) continue;
    if (!(await waitForReaders(operationRef, dependencies))) return;
    if (await finish(operationRef, broken, dependencies)) return;
  }
}

async function listRemaining(
  operationRef: OperationRef,
  broken: readonly string[],
  { database, vaultKeys }: ReencryptDependencies,
): Promise<readonly string[] | "vault-gone"> {
  return database.inAccount(operationRef.accountId, async (transaction) => {
    if ((await lockVault(transaction, operationRef)) === undefined) {
      await finishOperation(transaction, operationRef, "done");
      return "vault-gone";
    }
    await recordProgress(transaction, operationRef, 0);
    const active = await vaultKeys.active(transaction, operationRef);
    return listSecretsToReencrypt(transaction, operationRef, { active: active.version, broken });
  });
}

/** False for a secret that fails its integrity check; it stays under its old key. */
async function reencryptOne(
  operationRef: OperationRef,
  secretId: string,
  dependencies: ReencryptDependencies,
): Promise<boolean> {
  try {
    await dependencies.database.inAccount(operationRef.accountId, async (transaction) => {
      const to = await dependencies.vaultKeys.active(transaction, operationRef);
      await reencryptSecret(transaction, { ...operationRef, secretId }, { to, ...dependencies });
      await recordProgress(transaction, operationRef, 1);
    });
    return true;
  } catch (error) {
    if (!(error instanceof SecretIntegrityError)) throw error;
    await reportIntegrityError(error, { by: "server", vaultRef: operationRef }, dependencies).catch(
      () => undefined,
    );
    return false;
  }
}

async function waitForReaders(
  operationRef: OperationRef,
  { database, signal }: ReencryptDependencies,
): Promise<boolean> {
  for (let second = 0; second < graceSeconds; second += 1) {
    await database.inAccount(operationRef.accountId, (transaction) =>
      recordProgress(transaction, operationRef, 0),
    );
    await sleep(1000, undefined, { signal, ref: false }).catch(() => undefined);
    if (signal.aborted) return false;
  }
  return true;
}

/** False when a concurrent write used an older key, so that there is more to re-encrypt. */
async function finish(
  operationRef: OperationRef,
  broken: readonly string[],
  { database, vaultKeys, audit }: ReencryptDependencies,
): Promise<boolean> {
  const vaultRef = { accountId: operationRef.accountId, vaultId: operationRef.vaultId };
  return database.inAccount(operationRef.accountId, async (transaction) => {
    await lockVault(transaction, operationRef);
    const active = await vaultKeys.active(transaction, operationRef);
    const remaining = await listSecretsToReencrypt(transaction, operationRef, {
      active: active.version,
      broken,
    });
    if (remaining.length > 0) return false;
    await reencryptChanges(transaction, vaultRef, { to: active, vaultKeys });
    for (const version of await destroyRetiredKeys(transaction, operationRef)) {
      const event = { type: "data-key-destroyed", version } as const;
      audit.record(transaction, { ...vaultRef, by: "server", event });
    }
    await finishOperation(transaction, operationRef, broken.length === 0 ? "done" : "failed");
    await notifyNodes(transaction, operationRef.accountId, [
      { kind: "vault", subjectId: operationRef.vaultId },
    ]);
    return true;
  });
}
