import { createHash } from "node:crypto";
import type { Actor } from "../../authorization/actor.ts";
import { allowsFolder } from "../../authorization/grant.ts";
import { pathPrefixes } from "../../authorization/path-patterns.ts";
import { scanPage } from "../../cursor.ts";
import type { Database } from "../../database/open-database.ts";
import { requestFailure } from "../../failures.ts";
import { readVault } from "../../vaults/queries.ts";
import { pathCursorOf, pathFilter, toPathCursor } from "../allowed-paths.ts";
import { listValueSizes, readValueRows, type ValueSize } from "../queries.ts";
import { type DecryptedValue, decryptVersions, type ReadDependencies } from "../read-value.ts";
import { countJsonBytes } from "../value-content.ts";
import { expandReferences, formatVersion } from "./expand-references.ts";
import { invalidFile } from "./file-entries.ts";
import { listVaultRevisions } from "./queries.ts";

/** Which values of a vault to read. */
export type Selection = {
  readonly vaultId: string;
  readonly folder: string;
  readonly recursive: boolean;
  /** Null selects every name. */
  readonly names: readonly string[] | null;
  readonly isExpanded: boolean;
};

/** The state of a selection for one caller. An unchanged tag means that the values are unchanged. */
export type SelectionState = { readonly revision: number; readonly tag: string };

const maxItems = 1000;
const maxBytes = 4 * 1024 * 1024;

/** Decrypts and records nothing. */
export async function readSelectionState(
  actor: Actor,
  { vaultId, folder, recursive, names, isExpanded }: Selection,
  { database }: { readonly database: Pick<Database, "queryInAccount"> },
): Promise<SelectionState> {
  const vault = await readVault(database, { accountId: actor.accountId, vaultId });
  if (vault === undefined) throw requestFailure({ kind: "not-found" });
  const { vaultIds, paths = null } = actor.grant;
  if (!allowsFolder(actor.grant, folder)) throw requestFailure({ kind: "out-of-reach", path: folder });
  // Expanded values also depend on the other vaults that the caller may read.
  const others = isExpanded
    ? await listVaultRevisions(database, actor.accountId, vaultIds === undefined ? null : [...vaultIds])
    : null;
  const policy = createHash("sha256").update(JSON.stringify([paths, folder, recursive, names, others]));
  return { revision: vault.revision, tag: `v${vault.revision}-${policy.digest("base64url").slice(0, 22)}` };
}

/** Verifies and decrypts the values, and records one event before returning them. */
export async function readSelected(
  actor: Actor,
  { selection, event }: { readonly selection: Selection; readonly event: "values-read" | "values-exported" },
  dependencies: ReadDependencies,
): Promise<readonly DecryptedValue[]> {
  const { vaultId, folder, recursive, names, isExpanded } = selection;
  const vaultRef = { accountId: actor.accountId, vaultId };
  const search = { folder, recursive, names, prefixes: pathPrefixes(actor.grant.paths) };
  const isAllowed = pathFilter(actor.grant);
  const { page: selected, next } = await scanPage<ValueSize>({
    limit: maxItems,
    isAllowed,
    after: null,
    read: (after, limit) =>
      listValueSizes(dependencies.database, vaultRef, { ...search, limit, after: toPathCursor(after) }),
    cursorOf: pathCursorOf,
  });
  assertSelectionSize(selected, next !== undefined);
  const ids = selected.map(({ id }) => id);
  const read = async () => {
    const rows = await readValueRows(dependencies.database, vaultRef, { ...search, ids });
    // Filtered again: a secret may have been moved since it was selected.
    return isAllowed === undefined ? rows : rows.filter(isAllowed);
  };
  const decrypted = await decryptVersions(vaultRef, read, { ...dependencies, by: actor });
  const values = isExpanded
    ? await expandReferences(actor, { vaultId, values: decrypted }, dependencies)
    : decrypted;
  assertResponseSize(values);
  await dependencies.audit.recordRead({
    ...vaultRef,
    by: actor,
    event: { type: event, secrets: decrypted.map(formatVersion), path: folder },
  });
  return values;
}

/** Checked before any value is fetched: a folder may be larger than this process's memory. */
function assertSelectionSize(selected: readonly ValueSize[], hasMore: boolean): void {
  if (hasMore) {
    throw invalidFile([
      { field: "path", reason: `selects more than ${maxItems} secrets; narrow it by path or names` },
    ]);
  }
  const bytes = selected.reduce((sum, { size }) => sum + size, 0);
  if (bytes > maxBytes) throw selectionTooLarge();
}

/** The size in the response, where JSON escapes and base64 take more bytes than the stored value. */
function assertResponseSize(values: readonly DecryptedValue[]): void {
  const bytes = values.reduce((sum, { value, type }) => sum + countJsonBytes(value, type), 0);
  if (bytes > maxBytes) throw selectionTooLarge();
}

function selectionTooLarge(): Error {
  return invalidFile([
    { field: "path", reason: `selects more than ${maxBytes} bytes of values; narrow it by path or names` },
  ]);
}
