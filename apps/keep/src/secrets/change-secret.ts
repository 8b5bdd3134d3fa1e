import { openSealed, seal } from "@hearth-and-keep/envelope-crypto";
import { type Actor, nameActor } from "../authorization/actor.ts";
import { reachesPath } from "../authorization/grant.ts";
import { requestFailure } from "../failures.ts";
import type { Changed } from "../idempotency/change-once.ts";
import type { DataKey } from "../keys/vault-keys.ts";
import { makeId } from "../make-id.ts";
import { type AskedChange, type ChangeParts, changeVault, type VaultChange } from "../vaults/change-vault.ts";
import { notePlace } from "./associated-data.ts";
import {
  type FoundSecret,
  findSecrets,
  insertSecret,
  type SecretRow,
  updateSecret,
  type Whereabouts,
} from "./queries.ts";
import { reportBroken } from "./report-broken.ts";
import { inSecret, keyInSecret, makeMark, refuseUnlessStanding } from "./secret-mac.ts";
import { joinPath } from "./secret-path.ts";

/** A secret that waits for its end does so for this long. */
const keptDays = 30;

/** As `changeVault`; a secret found broken on the way is reported. */
export function changeSecrets<Result>(
  asked: Omit<AskedChange, "conditions">,
  parts: ChangeParts,
  work: (change: VaultChange) => Promise<Result>,
): Promise<Changed<Result>> {
  const place = { accountId: asked.actor.accountId, vaultId: asked.vaultId };
  return changeVault(asked, parts, work).catch((problem: unknown) =>
    reportBroken(problem, { by: asked.actor, place }, parts),
  );
}

/** Rows as they were stored last, or none: who changes a row vouches for all of it with a new mark. */
export async function takeSecrets(change: VaultChange, which: Whereabouts): Promise<readonly FoundSecret[]> {
  const found = await findSecrets(change.transaction, change.place, which);
  for (const row of found) {
    // What this change itself stored is newer than what the vault's row says yet.
    const standing = { ...row, vault_revision: change.latestRevision() };
    refuseUnlessStanding(change.place.vaultId, standing, await change.keyOf(row.key_version));
  }
  return found;
}

/** The one with this id, if the actor reaches it and it is in the wanted state. */
export async function takeSecret(
  change: VaultChange,
  id: string,
  { actor, state }: { readonly actor: Pick<Actor, "grant">; readonly state: "live" | "deleted" | "any" },
): Promise<FoundSecret> {
  const [found] = await takeSecrets(change, { id });
  const isThere =
    found !== undefined &&
    reachesPath(actor.grant, joinPath(found.folder, found.name)) &&
    (state === "any" || state === (found.deleted_at === null ? "live" : "deleted"));
  if (!isThere) throw requestFailure({ kind: "not-found" });
  return found;
}

/** What of a secret changes; the rest stays. A note of null is taken away. */
export type SecretChanges = Partial<
  Pick<SecretRow, "folder" | "name" | "type" | "current_version" | "tags" | "destroyed_versions" | "size">
> & {
  readonly note?: string | null | undefined;
  readonly state?: "live" | "deleted";
};

/** Gives the row its new revision, seals its note with the active key, marks and stores it. The caller records. */
export async function storeSecret(
  change: VaultChange,
  before: SecretRow,
  { note, state, ...changes }: SecretChanges,
): Promise<SecretRow> {
  const key = await change.activeKey();
  const isLive = state === undefined ? before.deleted_at === null : state === "live";
  const row = {
    ...before,
    ...changes,
    revision: change.takeRevision(),
    key_version: key.version,
    note_sealed: await sealNote(change, before, { key, note }),
    updated_by: writerOf(change),
    deleted_at: isLive ? null : new Date(),
  };
  const mark = makeMark(change.place.vaultId, row, key);
  const daysLeft = isLive ? null : keptDays;
  return {
    ...row,
    mark,
    ...(await updateSecret(change.transaction, change.place, { ...row, mark, daysLeft })),
  };
}

export type SecretBirth = Pick<SecretRow, "folder" | "name" | "type" | "tags" | "size"> & {
  readonly note: string | null;
};

/** A secret with one version, which the caller inserts, and records. */
export async function bearSecret(change: VaultChange, { note, ...birth }: SecretBirth): Promise<SecretRow> {
  const key = await change.activeKey();
  const id = makeId();
  const row = {
    ...birth,
    id,
    current_version: 1,
    revision: change.takeRevision(),
    destroyed_versions: [],
    key_version: key.version,
    note_sealed: note === null ? null : sealNoteText(note, { vaultId: change.place.vaultId, id, key }),
    updated_by: writerOf(change),
    deleted_at: null,
  };
  const mark = makeMark(change.place.vaultId, row, key);
  return { ...row, mark, ...(await insertSecret(change.transaction, change.place, { ...row, mark })) };
}

export function writerOf({ by }: VaultChange): string {
  return by === "server" ? by : nameActor(by);
}

/** One that stays is opened and sealed again when the active key is another. */
async function sealNote(
  change: VaultChange,
  before: SecretRow,
  { key, note }: { readonly key: DataKey; readonly note: string | null | undefined },
): Promise<Buffer | null> {
  const { vaultId } = change.place;
  const { id, note_sealed: sealed } = before;
  if (typeof note === "string") return sealNoteText(note, { vaultId, id, key });
  if (note === null || sealed === null) return null;
  if (before.key_version === key.version) return sealed;
  const older = await keyInSecret(id, change.keyOf(before.key_version));
  const text = inSecret(id, () => openSealed(sealed, older.key, notePlace(vaultId, id, before.key_version)));
  return seal(text, key.key, notePlace(vaultId, id, key.version));
}

function sealNoteText(
  note: string,
  { vaultId, id, key }: { readonly vaultId: string; readonly id: string; readonly key: DataKey },
): Buffer {
  return seal(Buffer.from(note, "utf8"), key.key, notePlace(vaultId, id, key.version));
}
