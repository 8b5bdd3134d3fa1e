/**
 * @module
 * Folders of a vault: where secrets lie. A folder has no id and no right of its own; it is there once it was made or
 * something was put into it. Promises that a move keeps every secret's id, versions and values.
 * Imported by `routes.ts`; the rows are made by whoever puts a secret somewhere.
 */
import { refuseUnlessMet } from "../../conditions.ts";
import { requestFailure } from "../../failures.ts";
import type { Changed } from "../../idempotency/change-once.ts";
import { vaultTarget } from "../../vaults/change-settings.ts";
import type { AskedChange, ChangeParts, VaultChange } from "../../vaults/change-vault.ts";
import { changeSecrets, storeSecret, takeSecrets } from "../change-secret.ts";
import { deleteInto } from "../delete-secret.ts";
import { refuseUnlessFolderReached } from "../path-access.ts";
import { type FoundSecret, findSecrets } from "../queries.ts";
import { isInFolder, joinPath, locateSecret, parseFolder, type SecretPath } from "../secret-path.ts";
import { findFolder, makeFolders, removeFolders, renameFolders } from "./queries.ts";

export type MadeFolder = { readonly isNew: boolean; readonly folder: { path: string; created_at: string } };
export type FolderOutcome = { readonly secrets: number; readonly revision: number };

/** One that is there already stays as it is. */
export function createFolder(
  { conditions, ...asked }: AskedChange,
  path: string,
  parts: ChangeParts,
): Promise<Changed<MadeFolder>> {
  refuseUnlessFolderReached(asked.actor.grant, path);
  return changeSecrets(asked, parts, async (change) => {
    const { transaction, place, vault } = change;
    const known = await findFolder(transaction, place, path);
    refuseUnlessMet(conditions, {
      revision: known === undefined ? undefined : vault.revision - 1,
      isDemanded: vault.demands_preconditions,
    });
    const made = await makeFolders(transaction, place, path);
    const folder = known ?? made.find((each) => each.path === path);
    if (folder === undefined) throw requestFailure({ kind: "conflict", reason: "The root is always there" });
    if (known === undefined) await change.record({ type: "folder-created", path });
    return { isNew: known === undefined, folder: { path, created_at: folder.created_at.toISOString() } };
  });
}

/** With everything in it, when that is asked for; the secrets wait for their end as any deleted secret does. */
export function deleteFolder(
  { conditions, ...asked }: AskedChange,
  { path, recursive }: { readonly path: string; readonly recursive: boolean },
  parts: ChangeParts,
): Promise<Changed<FolderOutcome>> {
  refuseUnlessFolderReached(asked.actor.grant, path);
  refuseRoot(path);
  return changeSecrets(asked, parts, async (change) => {
    refuseUnlessMet(conditions, vaultTarget(change));
    const secrets = await takeSecrets(change, { within: path });
    const removed = await removeFolders(change.transaction, change.place, path);
    if (secrets.length === 0 && removed === 0) throw requestFailure({ kind: "not-found" });
    if (!recursive && (secrets.length > 0 || removed > 1)) {
      throw requestFailure({ kind: "conflict", reason: "The folder is not empty" });
    }
    for (const secret of secrets) await deleteInto(change, secret);
    await change.record({ type: "folder-deleted", path });
    return { secrets: secrets.length, revision: change.latestRevision() };
  });
}

/** Everything in one folder into another, which may be there already; no secret may be in the way. */
export function moveFolder(
  { conditions, ...asked }: AskedChange,
  { from, to }: { readonly from: string; readonly to: string },
  parts: ChangeParts,
): Promise<Changed<FolderOutcome>> {
  for (const folder of [from, to]) refuseUnlessFolderReached(asked.actor.grant, folder);
  refuseRoot(from);
  if (isInFolder(from, to)) {
    throw requestFailure({ kind: "conflict", reason: "A folder cannot be moved into itself" });
  }
  return changeSecrets(asked, parts, async (change) => {
    refuseUnlessMet(conditions, vaultTarget(change));
    const moves = planMoves(await takeSecrets(change, { within: from }), { from, to });
    await refuseAnyTaken(change, { to, moves });
    const renamed = await renameFolders(change.transaction, change.place, { from, to });
    if (moves.length === 0 && renamed === 0) throw requestFailure({ kind: "not-found" });
    await makeFolders(change.transaction, change.place, to);
    for (const { secret, path } of moves) await moveOne(change, secret, path);
    await change.record({ type: "folder-moved", path: from, to });
    return { secrets: moves.length, revision: change.latestRevision() };
  });
}

type Move = { readonly secret: FoundSecret; readonly path: SecretPath };

/** Those nearer to the root first: one that moves up may take the place that another leaves. */
function planMoves(
  secrets: readonly FoundSecret[],
  { from, to }: { readonly from: string; readonly to: string },
): readonly Move[] {
  return secrets
    .toSorted((one, other) => one.folder.length - other.folder.length)
    .map((secret) => {
      const rest = secret.folder.slice(from.length);
      return { secret, path: locateSecret(parseFolder(to === "/" ? rest : to + rest, "to"), secret.name) };
    });
}

async function refuseAnyTaken(
  { transaction, place }: VaultChange,
  { to, moves }: { readonly to: string; readonly moves: readonly Move[] },
): Promise<void> {
  const leaving = new Set(moves.map(({ secret }) => secret.id));
  const there = await findSecrets(transaction, place, { within: to });
  const taken = new Set(
    there.filter(({ id }) => !leaving.has(id)).map(({ folder, name }) => joinPath(folder, name)),
  );
  const inTheWay = moves.find(({ path }) => taken.has(path.path));
  if (inTheWay === undefined) return;
  throw requestFailure({ kind: "conflict", reason: `There is a secret at "${inTheWay.path.path}"` });
}

async function moveOne(change: VaultChange, secret: FoundSecret, path: SecretPath): Promise<void> {
  const { id, revision } = await storeSecret(change, secret, { folder: path.folder, name: path.name });
  await change.record({ type: "secret-changed", secret: id, path: path.path }, { id, revision });
}

function refuseRoot(path: string): void {
  if (path === "/") throw requestFailure({ kind: "conflict", reason: "The root stays where it is" });
}
