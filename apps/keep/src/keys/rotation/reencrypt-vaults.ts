import { setTimeout as sleep } from "node:timers/promises";
import type { AuditLog } from "../../audit/audit-log.ts";
import { notifyNodes } from "../../cluster/queries.ts";
import type { Database } from "../../database/open-database.ts";
import { reencryptSecret } from "../../secrets/reencrypt-secret.ts";
import { reportIntegrityError } from "../../secrets/report-integrity-error.ts";
import { SecretIntegrityError } from "../../secrets/secret-mac.ts";
import type { VaultKeys } from "../vault-keys.ts";
import {
  claimOperation,
  destroyRetiredKeys,
  endOperation,
  listSecretsToReseal,
  listWaitingOperations,
  lockVault,
  noteProgress,
  type OperationRef,
} from "./queries.ts";

export type ReencryptDependencies = {
  readonly database: Pick<Database, "inAccount" | "acrossAccounts">;
  readonly vaultKeys: VaultKeys;
  readonly audit: AuditLog;
  /** Fires when this node ends; what is left another one takes up. */
  readonly signal: AbortSignal;
};

/** A reader who has a row in hand gets the key it names within this time, though the row is sealed anew meanwhile. */
const graceSeconds = 3;

/** One turn: every operation that no living node works on. */
export async function resealVaults(parts: ReencryptDependencies): Promise<void> {
  for (const place of await listWaitingOperations(parts.database)) {
    if (parts.signal.aborted) return;
    if (await claimOperation(parts.database, place)) await resealVault(place, parts);
  }
}

async function resealVault(place: OperationRef, parts: ReencryptDependencies): Promise<void> {
  const { signal } = parts;
  const broken: string[] = [];
  for (;;) {
    const waiting = await lookForMore(place, broken, parts);
    if (waiting === "vault-gone") return;
    for (const secretId of waiting) {
      if (signal.aborted) return;
      if (!(await resealOne(place, secretId, parts))) broken.push(secretId);
    }
    if (waiting.length > 0) continue;
    if (!(await waitForReaders(place, parts))) return;
    if (await finish(place, broken, parts)) return;
  }
}

async function lookForMore(
  place: OperationRef,
  broken: readonly string[],
  { database, vaultKeys }: ReencryptDependencies,
): Promise<readonly string[] | "vault-gone"> {
  return database.inAccount(place.accountId, async (transaction) => {
    if ((await lockVault(transaction, place)) === undefined) {
      await endOperation(transaction, place, "done");
      return "vault-gone";
    }
    await noteProgress(transaction, place, 0);
    const active = await vaultKeys.active(transaction, place);
    return listSecretsToReseal(transaction, place, { active: active.version, broken });
  });
}

/** False for a secret that is not what was stored: it stays as it is, under the key that it has. */
async function resealOne(
  place: OperationRef,
  secretId: string,
  parts: ReencryptDependencies,
): Promise<boolean> {
  try {
    await parts.database.inAccount(place.accountId, async (transaction) => {
      const to = await parts.vaultKeys.active(transaction, place);
      await reencryptSecret(transaction, { ...place, secretId }, { to, vaultKeys: parts.vaultKeys });
      await noteProgress(transaction, place, 1);
    });
    return true;
  } catch (problem) {
    if (!(problem instanceof SecretIntegrityError)) throw problem;
    await reportIntegrityError(problem, { by: "server", vaultRef: place }, parts).catch(() => undefined);
    return false;
  }
}

async function waitForReaders(
  place: OperationRef,
  { database, signal }: ReencryptDependencies,
): Promise<boolean> {
  for (let second = 0; second < graceSeconds; second += 1) {
    await database.inAccount(place.accountId, (transaction) => noteProgress(transaction, place, 0));
    await sleep(1000, undefined, { signal, ref: false }).catch(() => undefined);
    if (signal.aborted) return false;
  }
  return true;
}

/** False when a write with an older key came in between: there is more to do. */
async function finish(
  place: OperationRef,
  broken: readonly string[],
  { database, vaultKeys, audit }: ReencryptDependencies,
): Promise<boolean> {
  return database.inAccount(place.accountId, async (transaction) => {
    await lockVault(transaction, place);
    const active = await vaultKeys.active(transaction, place);
    const left = await listSecretsToReseal(transaction, place, { active: active.version, broken });
    if (left.length > 0) return false;
    for (const version of await destroyRetiredKeys(transaction, place)) {
      const event = { type: "data-key-destroyed", version } as const;
      await audit.record(transaction, { chain: place.vaultId, by: "server", event });
    }
    await endOperation(transaction, place, broken.length === 0 ? "done" : "failed");
    await notifyNodes(transaction, place.accountId, [{ kind: "vault", subjectId: place.vaultId }]);
    return true;
  });
}
