import type { AuditEvent } from "../audit/events.ts";
import { tellNodes } from "../cluster/queries.ts";
import { refuseUnlessMet } from "../conditions.ts";
import { requestFailure } from "../failures.ts";
import { type Changed, changeOnce } from "../idempotency/change-once.ts";
import type { VaultPlace } from "../keys/vault-keys.ts";
import { vaultTarget } from "./change-settings.ts";
import {
  type AskedChange,
  type ChangeParts,
  changeInTransaction,
  type VaultChange,
  type VaultState,
} from "./change-vault.ts";
import { refuseOneVaultTooMany } from "./create-vault.ts";
import { describeVaultDetail, type VaultDetail } from "./describe-vault.ts";
import { isVaultDue, removeVault, setVaultEnd } from "./queries.ts";

/** A vault that waits for its end does so for this long. */
const keptDays = 30;

/** Not there for anybody from now on, and gone for good after a while. */
export async function deleteVault(asked: AskedChange, parts: ChangeParts): Promise<void> {
  await changeWhole(asked, { parts, state: "live" }, async (change) => {
    refusePersonal(change);
    refuseUnlessMet(asked.conditions, vaultTarget(change));
    await setVaultEnd(change.transaction, change.place, keptDays);
    await recordOnBoth(change, { type: "vault-deleted", vault: change.place.vaultId }, parts);
    return null;
  });
}

/** Gone for good at once, whether it waited for its end or not: with its keys nothing of it opens any more. */
export async function purgeVault(asked: AskedChange, parts: ChangeParts): Promise<void> {
  await changeWhole(asked, { parts, state: "any" }, async (change) => {
    refusePersonal(change);
    refuseUnlessMet(asked.conditions, vaultTarget(change));
    await purge(change, parts);
    return null;
  });
}

/** The server's own doing, when its time is over. False when it was brought back, or is gone already. */
export function purgeDueVault(place: VaultPlace, parts: ChangeParts): Promise<boolean> {
  return parts.database.inAccount(place.accountId, async (transaction) => {
    if (!(await isVaultDue(transaction, place))) return false;
    return changeInTransaction(
      transaction,
      { place, by: "server", state: "deleted", parts },
      async (change) => {
        await purge(change, parts);
        return true;
      },
    );
  });
}

export function restoreVault(asked: AskedChange, parts: ChangeParts): Promise<Changed<VaultDetail>> {
  return changeWhole(asked, { parts, state: "deleted" }, async (change) => {
    refuseUnlessMet(asked.conditions, vaultTarget(change));
    await refuseOneVaultTooMany(change.transaction, change.place.accountId);
    await setVaultEnd(change.transaction, change.place, null);
    await recordOnBoth(change, { type: "vault-restored", vault: change.place.vaultId }, parts);
    return describeVaultDetail({ ...change.vault, deleted_at: null });
  });
}

function changeWhole<Result>(
  { actor, vaultId, once }: AskedChange,
  { parts, state }: { readonly parts: ChangeParts; readonly state: VaultState },
  work: (change: VaultChange) => Promise<Result>,
): Promise<Changed<Result>> {
  const place = { accountId: actor.accountId, vaultId };
  return changeOnce(parts.database, { actor, once }, (transaction) =>
    changeInTransaction(transaction, { place, by: actor, state, parts }, work),
  );
}

function refusePersonal({ vault }: VaultChange): void {
  if (vault.kind !== "personal") return;
  throw requestFailure({ kind: "conflict", reason: "The personal vault goes with its account alone" });
}

async function purge(change: VaultChange, parts: Pick<ChangeParts, "audit">): Promise<void> {
  await recordOnBoth(change, { type: "vault-purged", vault: change.place.vaultId }, parts);
  await removeVault(change.transaction, change.place);
  const { accountId, vaultId } = change.place;
  await tellNodes(change.transaction, accountId, [{ kind: "vault", subjectId: vaultId }]);
}

/** The vault's own chain cannot be asked for while the vault is not there. */
async function recordOnBoth(
  change: VaultChange,
  event: AuditEvent,
  { audit }: Pick<ChangeParts, "audit">,
): Promise<void> {
  await change.record(event);
  const { accountId } = change.place;
  await audit.record(change.transaction, { chain: accountId, by: change.by, event });
}
