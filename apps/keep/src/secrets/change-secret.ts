import { setImmediate as yieldToEventLoop } from "node:timers/promises";
import { decrypt, encrypt } from "@hearth-and-keep/envelope-crypto";
import { type Actor, formatActor } from "../authorization/actor.ts";
import { allowsPath, assertPathAllowed, type Reach } from "../authorization/grant.ts";
import { requestFailure } from "../failures.ts";
import { generateId } from "../generate-id.ts";
import type { IdempotentResult } from "../idempotency/run-idempotent.ts";
import type { DataKey } from "../keys/vault-keys.ts";
import type { ChangeDependencies, ChangeRequest } from "../vaults/change-queue.ts";
import type { VaultChange } from "../vaults/open-changes.ts";
import { assertChangeable } from "./approvals/protection.ts";
import {
  findSecrets,
  type SecretForUpdate,
  type SecretLocator,
  type SecretRow,
  type StoredSecret,
  updateSecretRow,
} from "./queries.ts";
import { reportIntegrityError } from "./report-integrity-error.ts";
import {
  assertGenuine,
  computeSecretMac,
  noteAssociatedData,
  wrapIntegrityError,
  wrapLoadError,
} from "./secret-mac.ts";
import { joinPath, type SecretPath } from "./secret-path.ts";

/** How long a soft-deleted secret can be restored. */
const retentionDays = 30;
/** Rows verified before other requests get a turn. */
const verifiedRows = 100;

/** As `ChangeQueue.run`; also reports a secret that fails its integrity check. */
export function changeSecrets<Result>(
  request: Omit<ChangeRequest, "preconditions">,
  dependencies: ChangeDependencies,
  work: (change: VaultChange) => Promise<Result>,
): Promise<IdempotentResult<Result>> {
  const vaultRef = { accountId: request.actor.accountId, vaultId: request.vaultId };
  return dependencies.changeQueue
    .run(request, work)
    .catch((error: unknown) => reportIntegrityError(error, { by: request.actor, vaultRef }, dependencies));
}

/**
 * Verifies every row before it is returned: an update computes a new MAC over the whole row, including unchanged
 * columns.
 */
export async function loadSecrets(
  change: VaultChange,
  locator: SecretLocator,
): Promise<readonly SecretForUpdate[]> {
  const found = await findSecrets(change.transaction, change.vaultRef, locator);
  for (const [index, row] of found.entries()) {
    if (index % verifiedRows === verifiedRows - 1) await yieldToEventLoop();
    wrapIntegrityError(row.id, () => change.head.assertCurrent(row));
    assertGenuine(change.vaultRef.vaultId, row, await change.dataKey(row.key_version));
  }
  return found;
}

/** The secret that a request names; by path, only live ones are found. */
export type SecretTarget = { readonly id: string } | { readonly path: SecretPath };

/** For a path that the request names, a refusal may repeat it; checked before anything is read. */
export function assertTargetAllowed(
  { grant }: Pick<Actor, "grant">,
  reach: Reach,
  target: SecretTarget,
): void {
  if ("path" in target) assertPathAllowed(grant, reach, target.path.path);
}

/** Who loads a secret, for what. */
export type SecretUse = {
  readonly actor: Pick<Actor, "grant">;
  readonly scope: Reach["scope"];
  readonly state: "live" | "deleted" | "any";
};

/** Throws "not found" unless the actor's path patterns allow this use of the secret and it is in the given state. */
export async function loadSecret(
  change: VaultChange,
  target: SecretTarget,
  { actor, scope, state }: SecretUse,
): Promise<SecretForUpdate> {
  const [found] = await loadSecrets(change, "path" in target ? target.path : target);
  const reach = { scope, vaultId: change.vaultRef.vaultId };
  const isVisible =
    found !== undefined &&
    allowsPath(actor.grant, reach, joinPath(found.folder, found.name)) &&
    (state === "any" || state === (found.deleted_at === null ? "live" : "deleted"));
  if (!isVisible) throw requestFailure({ kind: "not-found" });
  return found;
}

/** Changed fields; a null note removes the note. */
export type SecretChanges = Partial<
  Pick<
    SecretRow,
    "folder" | "name" | "type" | "current_version" | "tags" | "egress" | "destroyed_versions" | "size"
  >
> & {
  readonly note?: string | null | undefined;
  readonly state?: "live" | "deleted";
};

/**
 * Stores the row with a new revision, its note encrypted with the active key, and a new MAC. The caller records the
 * event.
 */
export async function updateSecret(
  change: VaultChange,
  before: SecretRow,
  changes: SecretChanges,
): Promise<SecretRow> {
  const { row, daysLeft } = await prepareUpdate(change, before, changes);
  return { ...row, ...(await updateSecretRow(change.transaction, change.vaultRef, { ...row, daysLeft })) };
}

/** A row with its changes, ready to be stored; `daysLeft` is the time until the purge, null for a live secret. */
export type PreparedUpdate = { readonly row: SecretRow; readonly daysLeft: number | null };

export async function prepareUpdate(
  change: VaultChange,
  before: SecretRow,
  { note, state, ...changes }: SecretChanges,
): Promise<PreparedUpdate> {
  const { folder = before.folder, name = before.name } = changes;
  assertChangeable(change, joinPath(before.folder, before.name), joinPath(folder, name));
  const key = await change.activeKey();
  const wasLive = before.deleted_at === null;
  const isLive = state === undefined ? wasLive : state === "live";
  change.usage.liveSecrets += Number(isLive) - Number(wasLive);
  const row = {
    ...before,
    ...changes,
    revision: change.nextRevision(),
    key_version: key.version,
    note_sealed: await encryptNote(change, before, { key, note }),
    updated_by: actorName(change),
    deleted_at: isLive ? null : new Date(),
  };
  const mark = computeSecretMac(change.vaultRef.vaultId, row, key);
  change.head.setRevision(row.id, row.revision);
  return { row: { ...row, mark }, daysLeft: isLive ? null : retentionDays };
}

export type NewSecretRow = Pick<SecretRow, "folder" | "name" | "type" | "tags" | "size"> & {
  readonly note: string | null;
};

/** A secret at version 1. The caller inserts it with that version, and records the event. */
export async function prepareSecret(
  change: VaultChange,
  { note, ...columns }: NewSecretRow,
): Promise<StoredSecret> {
  assertChangeable(change, joinPath(columns.folder, columns.name));
  const key = await change.activeKey();
  const id = generateId();
  const row = {
    ...columns,
    id,
    current_version: 1,
    egress: null,
    revision: change.nextRevision(),
    destroyed_versions: [],
    key_version: key.version,
    note_sealed: note === null ? null : encryptNoteText(note, { vaultId: change.vaultRef.vaultId, id, key }),
    updated_by: actorName(change),
    deleted_at: null,
  };
  const mark = computeSecretMac(change.vaultRef.vaultId, row, key);
  change.head.setRevision(id, row.revision);
  return { ...row, mark };
}

export function actorName({ by }: VaultChange): string {
  return by === "server" ? by : formatActor(by);
}

/** An unchanged note is re-encrypted only when the active key has changed. */
async function encryptNote(
  change: VaultChange,
  before: SecretRow,
  { key, note }: { readonly key: DataKey; readonly note: string | null | undefined },
): Promise<Buffer | null> {
  const { vaultId } = change.vaultRef;
  const { id, note_sealed: ciphertext } = before;
  if (typeof note === "string") return encryptNoteText(note, { vaultId, id, key });
  if (note === null || ciphertext === null) return null;
  if (before.key_version === key.version) return ciphertext;
  const oldKey = await wrapLoadError(id, change.dataKey(before.key_version));
  const text = wrapIntegrityError(id, () =>
    decrypt(ciphertext, oldKey.key, noteAssociatedData(vaultId, id, before.key_version)),
  );
  return encrypt(text, key.key, noteAssociatedData(vaultId, id, key.version));
}

function encryptNoteText(
  note: string,
  { vaultId, id, key }: { readonly vaultId: string; readonly id: string; readonly key: DataKey },
): Buffer {
  return encrypt(Buffer.from(note, "utf8"), key.key, noteAssociatedData(vaultId, id, key.version));
}
