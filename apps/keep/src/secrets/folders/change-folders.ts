/**
 * @module
 * Folders of a vault. A folder has no id and no permissions of its own; it exists once it was created or a secret was
 * written into it. Guarantees that a move keeps every secret's id, versions and values.
 * Imported by `routes.ts`; writing a secret creates its folders through `queries.ts`.
 */

import { assertFolderAllowed } from "../../authorization/grant.ts";
import { requestFailure } from "../../failures.ts";
import type { IdempotentResult } from "../../idempotency/run-idempotent.ts";
import { assertPreconditions } from "../../preconditions.ts";
import type { ChangeDependencies, ChangeRequest } from "../../vaults/change-queue.ts";
import { vaultPreconditionTarget } from "../../vaults/change-settings.ts";
import type { VaultChange } from "../../vaults/open-changes.ts";
import { assertMovable } from "../change-metadata.ts";
import { changeSecrets, loadSecrets } from "../change-secret.ts";
import type { SecretForUpdate } from "../queries.ts";
import { isInFolder, joinPath, parseFolder, toSecretPath } from "../secret-path.ts";
import { deleteContents, type Move, moveContents } from "./change-contents.ts";
import { createFolders, deleteFolders, findFolder, listPathsWithin, renameFolders } from "./queries.ts";

export type CreatedFolder = {
  readonly isNew: boolean;
  readonly folder: { path: string; created_at: string };
};
export type FolderOutcome = { readonly secrets: number; readonly revision: number };

/** An existing folder is left unchanged. */
export function createFolder(
  { preconditions, ...request }: ChangeRequest,
  path: string,
  dependencies: ChangeDependencies,
): Promise<IdempotentResult<CreatedFolder>> {
  assertFolderAllowed(request.actor.grant, { scope: "secrets:write", vaultId: request.vaultId }, path);
  return changeSecrets(request, dependencies, async (change) => {
    const { transaction, vaultRef, vault } = change;
    const existing = await findFolder(transaction, vaultRef, path);
    assertPreconditions(preconditions, {
      revision: existing === undefined ? undefined : vault.revision - 1,
      isRequired: vault.demands_preconditions,
    });
    const created = await createFolders(transaction, vaultRef, path);
    const folder = existing ?? created.find((each) => each.path === path);
    if (folder === undefined)
      throw requestFailure({ kind: "conflict", reason: "The root folder always exists" });
    if (existing === undefined) change.record({ type: "folder-created", path });
    return { isNew: existing === undefined, folder: { path, created_at: folder.created_at.toISOString() } };
  });
}

/** With `recursive`, soft-deletes the folder's secrets too. */
export function deleteFolder(
  { preconditions, ...request }: ChangeRequest,
  { path, recursive }: { readonly path: string; readonly recursive: boolean },
  dependencies: ChangeDependencies,
): Promise<IdempotentResult<FolderOutcome>> {
  assertFolderAllowed(request.actor.grant, { scope: "secrets:delete", vaultId: request.vaultId }, path);
  assertNotRoot(path);
  return changeSecrets(request, dependencies, async (change) => {
    assertPreconditions(preconditions, vaultPreconditionTarget(change));
    const secrets = await loadSecrets(change, { within: path });
    const removed = await deleteFolders(change.transaction, change.vaultRef, path);
    if (secrets.length === 0 && removed === 0) throw requestFailure({ kind: "not-found" });
    if (!recursive && (secrets.length > 0 || removed > 1)) {
      throw requestFailure({ kind: "conflict", reason: "The folder is not empty" });
    }
    await deleteContents(change, secrets);
    change.record({ type: "folder-deleted", path });
    return { secrets: secrets.length, revision: change.latestRevision() };
  });
}

/** Moves the contents into the target, which may exist; throws when a secret is already at one of the new paths. */
export function moveFolder(
  { preconditions, ...request }: ChangeRequest,
  { from, to }: { readonly from: string; readonly to: string },
  dependencies: ChangeDependencies,
): Promise<IdempotentResult<FolderOutcome>> {
  const reach = { scope: "secrets:write", vaultId: request.vaultId } as const;
  for (const folder of [from, to]) assertFolderAllowed(request.actor.grant, reach, folder);
  assertNotRoot(from);
  if (isInFolder(from, to)) {
    throw requestFailure({ kind: "conflict", reason: "A folder cannot be moved into itself" });
  }
  return changeSecrets(request, dependencies, async (change) => {
    assertPreconditions(preconditions, vaultPreconditionTarget(change));
    const moves = planMoves(await loadSecrets(change, { within: from }), { from, to });
    await assertPathsFree(change, { to, moves });
    const { grant } = request.actor;
    for (const { secret, path } of moves) await assertMovable(change, secret, { to: path, grant });
    const renamed = await renameFolders(change.transaction, change.vaultRef, { from, to });
    if (moves.length === 0 && renamed === 0) throw requestFailure({ kind: "not-found" });
    await createFolders(change.transaction, change.vaultRef, to);
    await moveContents(change, moves);
    change.record({ type: "folder-moved", path: from, to });
    return { secrets: moves.length, revision: change.latestRevision() };
  });
}

function planMoves(
  secrets: readonly SecretForUpdate[],
  { from, to }: { readonly from: string; readonly to: string },
): readonly Move[] {
  return secrets.map((secret) => {
    const rest = secret.folder.slice(from.length);
    return { secret, path: toSecretPath(parseFolder(to === "/" ? rest : to + rest, "to"), secret.name) };
  });
}

async function assertPathsFree(
  { transaction, vaultRef }: VaultChange,
  { to, moves }: { readonly to: string; readonly moves: readonly Move[] },
): Promise<void> {
  const moving = new Set(moves.map(({ secret }) => secret.id));
  const atTarget = await listPathsWithin(transaction, vaultRef, to);
  const taken = new Set(
    atTarget.filter(({ id }) => !moving.has(id)).map(({ folder, name }) => joinPath(folder, name)),
  );
  const conflict = moves.find(({ path }) => taken.has(path.path));
  if (conflict === undefined) return;
  throw requestFailure({ kind: "conflict", reason: `A secret already exists at ${conflict.path.path}` });
}

function assertNotRoot(path: string): void {
  if (path === "/")
    throw requestFailure({ kind: "conflict", reason: "The root folder cannot be moved or deleted" });
}
