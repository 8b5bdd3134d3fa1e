import { isInFolder, listAncestors } from "../../secrets/secret-path.ts";
import type { VaultRef } from "../vault-ref.ts";
import { readEvent } from "./logged-account.ts";
import { type FolderPath, type LoggedEvent, listFolderRows, listVaultEvents, pageSizes } from "./queries.ts";
import { readPages } from "./read-pages.ts";
import type { RowVerifier } from "./row-verifier.ts";

/**
 * Folders have no MAC: they decide nothing, and show where a secret is or was. Each must be explained by a secret or by the
 * log, and those that the log says were created must exist. A vault from before the log, or
 * from another account, has unknown folders.
 */
export async function verifyFolders(
  vaultRef: VaultRef,
  ofSecrets: ReadonlySet<string>,
  { database, report }: Pick<RowVerifier, "database" | "report">,
): Promise<void> {
  const logged = await foldFolderEvents(vaultRef, database);
  const needed = new Set([...ofSecrets].flatMap((folder) => listAncestors(folder)));
  const stored = new Set<string>();
  const listed = readPages(pageSizes.rows, (last: FolderPath | undefined) =>
    listFolderRows(database, vaultRef, last?.path ?? null),
  );
  for await (const { path } of listed) {
    stored.add(path);
    const isExplained =
      needed.has(path) || logged.mentioned.has(path) || logged.targets.some((to) => isInFolder(to, path));
    if (!isExplained && logged.isComplete) report(`folder ${path} of vault ${vaultRef.vaultId} was added`);
  }
  for (const path of new Set([...needed, ...logged.created]))
    if (!stored.has(path)) report(`folder ${path} of vault ${vaultRef.vaultId} was removed`);
}

type LoggedFolders = {
  /** Created, and neither deleted nor moved since. */
  readonly created: Set<string>;
  /** Folders of everything that the log names, with their parents. */
  readonly mentioned: Set<string>;
  /** Folders that others were moved into. */
  readonly targets: string[];
  /** Whether the vault was created in the log. */
  isComplete: boolean;
};

async function foldFolderEvents(
  vaultRef: VaultRef,
  database: RowVerifier["database"],
): Promise<LoggedFolders> {
  const folders: LoggedFolders = { created: new Set(), mentioned: new Set(), targets: [], isComplete: false };
  const events = readPages(pageSizes.events, (last: LoggedEvent | undefined) =>
    listVaultEvents(database, vaultRef, last?.number ?? 0),
  );
  for await (const { body } of events) {
    const { type, path, to, secret } = readEvent(body);
    if (type === "vault-created") folders.isComplete = true;
    // What happened to the vault in another account is in the log of that one.
    if (type === "vault-transferred-out") {
      folders.created.clear();
      folders.isComplete = false;
    }
    if (path === undefined || path === "/") continue;
    // The path of a secret ends with its name.
    const named = listAncestors(path).slice(0, secret === undefined ? undefined : -1);
    for (const folder of named) folders.mentioned.add(folder);
    if (type === "folder-created") for (const folder of listAncestors(path)) folders.created.add(folder);
    if (type === "folder-deleted" || type === "folder-moved")
      for (const folder of folders.created) if (isInFolder(path, folder)) folders.created.delete(folder);
    if (type === "folder-moved" && to !== undefined) {
      folders.targets.push(to);
      for (const folder of to === "/" ? [] : listAncestors(to)) folders.mentioned.add(folder);
    }
  }
  return folders;
}
