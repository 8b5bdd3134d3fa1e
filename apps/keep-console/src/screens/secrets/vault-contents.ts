import type { SecretMetadata } from "@hearth-and-keep/vault-contract";
import { useCallback, useEffect, useMemo } from "react";
import { changed } from "../../vault-api/use-query.ts";
import { folderListPath, secretListPath, secretPath, vaultPath } from "./api-paths.ts";
import type { Entry } from "./list-row.tsx";
import { addressOf, type SecretsPlace } from "./secrets-location.ts";
import { type Pages, usePages } from "./use-pages.ts";

type Folder = { readonly path: string };

export type VaultContents = {
  readonly secrets: Pages<SecretMetadata>;
  readonly state: Pages<SecretMetadata>["state"];
  readonly entries: readonly Entry[];
  /** Some of them are of the place before, while those of this one are on their way. */
  readonly isOld: boolean;
  /** Every tag of what was read so far. */
  readonly tags: readonly string[];
  /** Of rows from several folders. */
  readonly hasPaths: boolean;
  /** After a change: of one secret as it is now, or of whatever it was. */
  readonly changed: (secret?: SecretMetadata) => void;
};

/** What a place in a vault shows: folders first, then secrets. */
export function useVaultContents(place: SecretsPlace): VaultContents {
  const hasPaths = place.text.trim() !== "" || place.tag !== "" || place.isDeleted;
  const secrets = usePages<SecretMetadata>(secretListPath(place));
  const folders = usePages<Folder>(hasPaths ? undefined : folderListPath(place));
  const { hasMore, more } = folders;
  useEffect(() => {
    if (hasMore) more();
  }, [hasMore, more, folders.items]);
  const entries = useEntries(place, hasPaths ? undefined : folders.items, secrets.items);
  const tags = useMemo(
    () => [...new Set(secrets.items.flatMap((secret) => secret.tags))].toSorted().slice(0, 100),
    [secrets.items],
  );
  const { change, reload } = secrets;
  const { reload: reloadFolders } = folders;
  const { vaultId = "" } = place;
  const settle = useCallback(
    (secret?: SecretMetadata) => {
      if (secret === undefined) {
        reload();
        reloadFolders();
        changed(vaultPath(vaultId));
        return;
      }
      change((items) => items.map((item) => (item.id === secret.id ? secret : item)));
      changed(secretPath(vaultId, secret.id));
    },
    [change, reload, reloadFolders, vaultId],
  );
  const isWaiting = !hasPaths && folders.state === "loading";
  const isBroken = !hasPaths && folders.state === "failed";
  const state = isWaiting ? "loading" : isBroken ? "failed" : secrets.state;
  const isOld = secrets.isOld || (!hasPaths && folders.isOld);
  return { secrets, state, entries, isOld, tags, hasPaths, changed: settle };
}

function useEntries(
  place: SecretsPlace,
  folders: readonly Folder[] | undefined,
  secrets: readonly SecretMetadata[],
): readonly Entry[] {
  return useMemo(() => {
    const { vaultId } = place;
    const above = (folders ?? []).map(
      ({ path }): Entry => ({ kind: "folder", key: path, path, to: addressOf({ vaultId, folder: path }) }),
    );
    const rows = secrets.map(
      (secret): Entry => ({
        kind: "secret",
        key: secret.id,
        secret,
        to: addressOf({ ...place, secretId: secret.id }),
      }),
    );
    return [...above, ...rows];
  }, [place, folders, secrets]);
}
