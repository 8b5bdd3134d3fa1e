import { navigate } from "@hearth-and-keep/page-design";
import type { SecretMetadata } from "@hearth-and-keep/vault-contract";
import { useToasts } from "../../design/toasts.tsx";
import { request } from "../../vault-api/api-client.ts";
import { invalidate } from "../../vault-api/use-query.ts";
import { formatQuery, secretPath, vaultPath } from "./api-paths.ts";
import { attemptEach, describeFailures, type PathFailure } from "./attempt-each.ts";
import { isPreconditionFailed } from "./save-secret.ts";
import { hrefOf } from "./secrets-location.ts";
import { useAccess } from "./vault-access.ts";

type DeletedSecret = Pick<SecretMetadata, "id" | "path">;

/** What a deletion removed, to restore it. */
export type Deleted = {
  readonly secrets: readonly DeletedSecret[];
  readonly folders: readonly string[];
};

/** Of a folder: its secrets, and all its folders including itself. */
export type FolderContents = Pick<Deleted, "folders"> & { readonly secrets: readonly SecretMetadata[] };

/** More are restored from Recently deleted; also the most operations of a batch. */
export const maxRestored = 200;

/**
 * Reads what the deletion of a folder will remove; undefined when that is too much to undo. Read it after the revision
 * that the deletion requires, so that nothing is missed.
 */
export async function readFolderContents(
  vaultId: string,
  folder: string,
): Promise<FolderContents | undefined> {
  type Page<Item> = { readonly items: readonly Item[]; readonly next_cursor?: string };
  const query = formatQuery({ path: folder, recursive: "true", limit: String(maxRestored) });
  const [secrets, folders] = await Promise.all([
    request<Page<SecretMetadata>>(`${vaultPath(vaultId)}/secrets${query}`),
    request<Page<{ readonly path: string }>>(`${vaultPath(vaultId)}/folders${query}`),
  ]);
  if (secrets.body.next_cursor !== undefined || folders.body.next_cursor !== undefined) return undefined;
  return { secrets: secrets.body.items, folders: [folder, ...folders.body.items.map(({ path }) => path)] };
}

/** Says what was deleted and offers to undo it. Undefined when that is too much, which shows what can be restored. */
export function useUndoDelete(vaultId: string): (text: string, deleted: Deleted | undefined) => void {
  const { showToast } = useToasts();
  const { allows } = useAccess();
  const undo = async (deleted: Deleted): Promise<void> => {
    const failures = await restore(vaultId, deleted);
    invalidate(vaultPath(vaultId));
    showToast(describeRestored(deleted, failures));
  };
  return (text, deleted) => {
    if (deleted === undefined) {
      const onSelect = (): void => navigate(hrefOf({ vaultId, isDeleted: true }));
      showToast(text, { label: "Show deleted", onSelect });
    } else if (deleted.secrets.every(({ path }) => allows("secrets:write", path))) {
      showToast(text, { label: "Undo", onSelect: () => void undo(deleted), isUndo: true });
    } else showToast(text);
  };
}

/** Restores one by one, so that a path that is taken does not keep the others from being restored. */
export async function restore(vaultId: string, deleted: Deleted): Promise<readonly PathFailure[]> {
  const options = { method: "POST", revision: "any" } as const;
  const failures = await attemptEach(deleted.secrets, ({ id }) =>
    request(`${secretPath(vaultId, id)}/restore`, options),
  );
  const folders = emptyFolders(deleted).map((path) => ({ path }));
  return [...failures, ...(await attemptEach(folders, ({ path }) => createFolder(vaultId, path)))];
}

/** The innermost folders without secrets; restored secrets create their folders again. */
export function emptyFolders({ secrets, folders }: Deleted): readonly string[] {
  return folders.filter((folder) => {
    const isParentOf = (path: string): boolean => path.startsWith(`${folder}/`);
    return !secrets.some(({ path }) => isParentOf(path)) && !folders.some(isParentOf);
  });
}

export async function createFolder(vaultId: string, path: string): Promise<void> {
  try {
    await request(`${vaultPath(vaultId)}/folders`, { method: "POST", body: { path }, revision: "new" });
  } catch (error) {
    // Somebody has created it in the meantime.
    if (!isPreconditionFailed(error)) throw error;
  }
}

function describeRestored({ secrets, folders }: Deleted, failures: readonly PathFailure[]): string {
  const [first] = secrets.length === 0 ? folders : secrets.map(({ path }) => path);
  const count = secrets.length;
  if (failures.length === 0) return count > 1 ? `${count} secrets restored` : `${nameOf(first)} restored`;
  return `Not restored: ${describeFailures(failures)}`;
}

function nameOf(path = ""): string {
  return path.split("/").at(-1) ?? path;
}
