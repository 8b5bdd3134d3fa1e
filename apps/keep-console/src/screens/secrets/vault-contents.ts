import type { SecretMetadata } from "@hearth-and-keep/vault-contract";
import { useCallback, useEffect, useMemo } from "react";
import { type PagedList, usePagedList } from "../../vault-api/use-paged-list.ts";
import { invalidate, onInvalidate } from "../../vault-api/use-query.ts";
import { folderListPath, secretListPath, secretPath, vaultPath } from "./api-paths.ts";
import type { ListEntry } from "./list-row.tsx";
import { hrefOf, type SecretsLocation } from "./secrets-location.ts";

type Folder = { readonly path: string };

export type VaultContents = {
  readonly secrets: PagedList<SecretMetadata>;
  readonly state: PagedList<SecretMetadata>["state"];
  readonly entries: readonly ListEntry[];
  /** Entries of the previous location, while those of the current one load. */
  readonly isStale: boolean;
  /** All tags of the loaded secrets. */
  readonly tags: readonly string[];
  /** Whether entries come from several folders. */
  readonly showsPaths: boolean;
  /** Replaces one changed secret, or reloads everything. */
  readonly refresh: (secret?: SecretMetadata) => void;
};

/** The entries at a location: folders first, then secrets. */
export function useVaultContents(location: SecretsLocation): VaultContents {
  const showsPaths = location.search.trim() !== "" || location.tag !== "" || location.isDeleted;
  const secrets = usePagedList<SecretMetadata>(secretListPath(location));
  const folders = usePagedList<Folder>(showsPaths ? undefined : folderListPath(location));
  const { hasMore, loadMore } = folders;
  useEffect(() => {
    if (hasMore) loadMore();
  }, [hasMore, loadMore, folders.items]);
  const entries = useEntries(location, showsPaths ? undefined : folders.items, secrets.items);
  const tags = useMemo(
    () => [...new Set(secrets.items.flatMap((secret) => secret.tags))].toSorted().slice(0, 100),
    [secrets.items],
  );
  const { update, reload } = secrets;
  const { reload: reloadFolders } = folders;
  const { vaultId = "" } = location;
  // Also for changes from elsewhere, such as an undo after the person has left this list and returned.
  useEffect(() => {
    const stops = [onInvalidate(vaultPath(vaultId), reload), onInvalidate(vaultPath(vaultId), reloadFolders)];
    return () => stops.forEach((stop) => stop());
  }, [vaultId, reload, reloadFolders]);
  const refresh = useCallback(
    (secret?: SecretMetadata) => {
      if (secret === undefined) return invalidate(vaultPath(vaultId));
      update((items) => items.map((item) => (item.id === secret.id ? secret : item)));
      invalidate(secretPath(vaultId, secret.id));
    },
    [update, vaultId],
  );
  const foldersLoading = !showsPaths && folders.state === "loading";
  const foldersFailed = !showsPaths && folders.state === "failed";
  const state = foldersLoading ? "loading" : foldersFailed ? "failed" : secrets.state;
  const isStale = secrets.isStale || (!showsPaths && folders.isStale);
  return { secrets, state, entries, isStale, tags, showsPaths, refresh };
}

function useEntries(
  location: SecretsLocation,
  folders: readonly Folder[] | undefined,
  secrets: readonly SecretMetadata[],
): readonly ListEntry[] {
  return useMemo(() => {
    const { vaultId, sort } = location;
    const folderEntries = (folders ?? []).map(({ path }): ListEntry => {
      const to = hrefOf({ vaultId, folder: path, sort });
      return { kind: "folder", key: path, path, to };
    });
    // Folders have a name only, and come first in any order.
    if (sort === "-name") folderEntries.reverse();
    const secretEntries = secrets.map(
      (secret): ListEntry => ({
        kind: "secret",
        key: secret.id,
        secret,
        to: hrefOf({ ...location, secretId: secret.id }),
      }),
    );
    return [...folderEntries, ...secretEntries];
  }, [location, folders, secrets]);
}
