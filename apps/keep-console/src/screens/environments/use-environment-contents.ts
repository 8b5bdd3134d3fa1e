import type { SecretMetadata } from "@hearth-and-keep/vault-contract";
import { useCallback, useEffect, useState } from "react";
import { type ApiError, request, toApiError } from "../../vault-api/api-client.ts";
import { onInvalidate } from "../../vault-api/use-query.ts";
import { formatQuery, vaultPath } from "../secrets/api-paths.ts";
import type { FolderContents } from "./environment-matrix.ts";

type SecretPage = { readonly items: readonly SecretMetadata[]; readonly next_cursor?: string };

export type EnvironmentContents =
  | { readonly state: "loading" }
  | { readonly state: "failed"; readonly error: ApiError }
  | {
      readonly state: "loaded";
      /** In the order of the folders. */
      readonly folders: readonly FolderContents[];
      /** Folders that have more secrets than are shown. */
      readonly truncated: readonly string[];
    };

/** A comparison accepts no more either. */
const maxSecrets = 1000;

/** The names of all secrets in these folders and their subfolders, without values. */
export function useEnvironmentContents(vaultId: string, folders: readonly string[]) {
  const [contents, setContents] = useState<EnvironmentContents>({ state: "loading" });
  const [reloadCount, setReloadCount] = useState(0);
  const reload = useCallback(() => setReloadCount((last) => last + 1), []);
  const key = folders.join("\n");
  useEffect(() => onInvalidate(vaultPath(vaultId), reload), [vaultId, reload]);
  useEffect(() => {
    const controller = new AbortController();
    const { signal } = controller;
    void loadFolders({ vaultId, folders: key === "" ? [] : key.split("\n"), signal }).then((loaded) => {
      if (!signal.aborted) setContents(loaded);
      return undefined;
    });
    return () => controller.abort();
  }, [vaultId, key, reloadCount]);
  return { contents, reload };
}

type LoadOptions = {
  readonly vaultId: string;
  readonly folders: readonly string[];
  readonly signal: AbortSignal;
};

async function loadFolders({ vaultId, folders, signal }: LoadOptions): Promise<EnvironmentContents> {
  try {
    const loaded = await Promise.all(folders.map((folder) => loadFolder({ vaultId, folder, signal })));
    return {
      state: "loaded",
      folders: loaded.map(({ contents }) => contents),
      truncated: loaded.filter(({ isTruncated }) => isTruncated).map(({ contents }) => contents.folder),
    };
  } catch (error) {
    return { state: "failed", error: toApiError(error) };
  }
}

type FolderOptions = {
  readonly vaultId: string;
  readonly folder: string;
  readonly signal?: AbortSignal;
};

export async function loadFolder({ vaultId, folder, signal }: FolderOptions) {
  const secrets = new Map<string, SecretMetadata>();
  let cursor: string | undefined;
  do {
    const query = formatQuery({ path: folder, recursive: "true", limit: "200", cursor });
    const { body } = await request<SecretPage>(
      `${vaultPath(vaultId)}/secrets${query}`,
      signal === undefined ? {} : { signal },
    );
    for (const secret of body.items) secrets.set(secret.path.slice(folder.length + 1), secret);
    cursor = body.next_cursor;
  } while (cursor !== undefined && secrets.size < maxSecrets);
  return { contents: { folder, secrets }, isTruncated: cursor !== undefined };
}
