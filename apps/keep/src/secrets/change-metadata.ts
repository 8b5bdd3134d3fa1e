import { refuseUnlessMet } from "../conditions.ts";
import { requestFailure } from "../failures.ts";
import type { Changed } from "../idempotency/change-once.ts";
import type { AskedChange, ChangeParts, VaultChange } from "../vaults/change-vault.ts";
import { changeSecrets, type SecretChanges, storeSecret, takeSecret } from "./change-secret.ts";
import { describeSecret, type SecretMetadata } from "./describe-secret.ts";
import { makeFolders } from "./folders/queries.ts";
import { refuseUnlessReached } from "./path-access.ts";
import { findSecrets, type SecretRow } from "./queries.ts";
import { joinPath, locateSecret, type SecretPath } from "./secret-path.ts";

export type MetadataChanges = {
  readonly id: string;
  readonly name?: string | undefined;
  readonly folder?: string | undefined;
  readonly tags?: readonly string[] | undefined;
  readonly note?: string | null | undefined;
};

/** Renames, moves, tags and annotates. Id, versions and values stay as they are. */
export function changeMetadata(
  { conditions, ...asked }: AskedChange,
  { id, name, folder, tags, note }: MetadataChanges,
  parts: ChangeParts,
): Promise<Changed<SecretMetadata>> {
  return changeSecrets(asked, parts, async (change) => {
    const before = await takeSecret(change, id, { actor: asked.actor, state: "live" });
    const to = locateSecret(folder ?? before.folder, name ?? before.name);
    refuseUnlessReached(asked.actor.grant, to.path);
    refuseUnlessMet(conditions, {
      revision: before.revision,
      isDemanded: change.vault.demands_preconditions,
    });
    const changes = { note, ...(tags === undefined ? {} : { tags }) };
    return describeSecret(await moveSecret(change, before, { to, changes }));
  });
}

/** Whether the path is another or not; refuses one that is taken. Records. */
export async function moveSecret(
  change: VaultChange,
  before: SecretRow,
  { to, changes = {} }: { readonly to: SecretPath; readonly changes?: SecretChanges },
): Promise<SecretRow> {
  if (to.path !== joinPath(before.folder, before.name)) {
    await refuseTaken(change, to);
    await makeFolders(change.transaction, change.place, to.folder);
  }
  const { folder, name } = to;
  const stored = await storeSecret(change, before, { ...changes, folder, name });
  await change.record(
    { type: "secret-changed", secret: stored.id, path: to.path },
    { id: stored.id, revision: stored.revision },
  );
  return stored;
}

export async function refuseTaken({ transaction, place }: VaultChange, path: SecretPath): Promise<void> {
  const [other] = await findSecrets(transaction, place, path);
  if (other === undefined) return;
  throw requestFailure({ kind: "conflict", reason: `There is a secret at "${path.path}"` });
}
