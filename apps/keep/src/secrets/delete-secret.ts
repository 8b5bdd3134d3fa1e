import { type Conditions, refuseUnlessMet } from "../conditions.ts";
import type { Changed } from "../idempotency/change-once.ts";
import {
  type AskedChange,
  type ChangeParts,
  changeInTransaction,
  type VaultChange,
} from "../vaults/change-vault.ts";
import { refuseTaken } from "./change-metadata.ts";
import { changeSecrets, storeSecret, takeSecret } from "./change-secret.ts";
import { describeSecret, type SecretMetadata } from "./describe-secret.ts";
import { makeFolders } from "./folders/queries.ts";
import { findSecrets, isSecretDue, removeSecret, type SecretRow } from "./queries.ts";
import { joinPath, locateSecret } from "./secret-path.ts";
import type { SecretPlace } from "./versions/queries.ts";
import { refuseOneTooMany } from "./write-secret.ts";

/** Not there for anybody from now on, and gone for good after a while. */
export async function deleteSecret(asked: AskedChange, id: string, parts: ChangeParts): Promise<void> {
  await changeSecrets(asked, parts, async (change) => {
    const before = await takeSecret(change, id, { actor: asked.actor, state: "live" });
    refuseUnless(asked.conditions, before, change);
    await deleteInto(change, before);
    return null;
  });
}

/** The same inside a change of the caller's. */
export async function deleteInto(change: VaultChange, before: SecretRow): Promise<SecretRow> {
  const stored = await storeSecret(change, before, { state: "deleted" });
  const { id, revision } = stored;
  await change.record(
    { type: "secret-deleted", secret: id, path: joinPath(stored.folder, stored.name) },
    { id, revision },
  );
  return stored;
}

/** Gone for good at once, whether it waited for its end or not. */
export async function purgeSecret(asked: AskedChange, id: string, parts: ChangeParts): Promise<void> {
  await changeSecrets(asked, parts, async (change) => {
    const before = await takeSecret(change, id, { actor: asked.actor, state: "any" });
    refuseUnless(asked.conditions, before, change);
    await purge(change, before);
    return null;
  });
}

/** The server's own doing, when its time is over. False when it was brought back, or is gone already. */
export function purgeDueSecret(place: SecretPlace, parts: ChangeParts): Promise<boolean> {
  return parts.database.inAccount(place.accountId, (transaction) =>
    changeInTransaction(transaction, { place, by: "server", state: "any", parts }, async (change) => {
      if (!(await isSecretDue(transaction, place, place.secretId))) return false;
      const [before] = await findSecrets(transaction, place, { id: place.secretId });
      if (before !== undefined) await purge(change, before);
      return true;
    }),
  );
}

/** Back to where it was, if nothing else is there now. */
export function restoreSecret(
  asked: AskedChange,
  id: string,
  parts: ChangeParts,
): Promise<Changed<SecretMetadata>> {
  return changeSecrets(asked, parts, async (change) => {
    const before = await takeSecret(change, id, { actor: asked.actor, state: "deleted" });
    refuseUnless(asked.conditions, before, change);
    const path = locateSecret(before.folder, before.name);
    await refuseTaken(change, path);
    await refuseOneTooMany(change);
    await makeFolders(change.transaction, change.place, before.folder);
    const stored = await storeSecret(change, before, { state: "live" });
    await change.record(
      { type: "secret-restored", secret: id, path: path.path },
      { id, revision: stored.revision },
    );
    return describeSecret(stored);
  });
}

function refuseUnless(conditions: Conditions, { revision }: SecretRow, { vault }: VaultChange): void {
  refuseUnlessMet(conditions, { revision, isDemanded: vault.demands_preconditions });
}

async function purge(change: VaultChange, { id, folder, name }: SecretRow): Promise<void> {
  await removeSecret(change.transaction, change.place, id);
  await change.record(
    { type: "secret-purged", secret: id, path: joinPath(folder, name) },
    { id, revision: change.takeRevision() },
  );
}
