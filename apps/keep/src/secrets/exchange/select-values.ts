import { createHash } from "node:crypto";
import type { Actor } from "../../authorization/actor.ts";
import { allowsFolder, allowsPath, pathListsOf, vaultsOf } from "../../authorization/grant.ts";
import { pathPrefixes } from "../../authorization/path-patterns.ts";
import { scanPage } from "../../cursor.ts";
import type { Database } from "../../database/open-database.ts";
import { requestFailure } from "../../failures.ts";
import { readVault } from "../../vaults/queries.ts";
import { pathCursorOf, pathFilter, toPathCursor } from "../allowed-paths.ts";
import { type Inheritance, toBasePath, toEnvironmentPath } from "../environments/inherited-folders.ts";
import { listValueSizes, readValueRows, type ValueRow, type ValueSize } from "../queries.ts";
import { type DecryptedValue, decryptVersions, type ReadDependencies } from "../read-value.ts";
import { isInFolder, joinPath } from "../secret-path.ts";
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
  /** Null selects every id. */
  readonly ids: readonly string[] | null;
  readonly isExpanded: boolean;
  /** Of the folder, when secrets that it does not have itself are read from the base. */
  readonly inheritance?: Inheritance | undefined;
};

/** A value at the path where it was asked for; `from` is the path of its secret, when it could be inherited. */
export type SelectedValue = DecryptedValue & { readonly from?: string };

/** The state of a selection for one caller. An unchanged tag means that the values are unchanged. */
export type SelectionState = { readonly revision: number; readonly tag: string };

const scope = "secrets:read" as const;
const maxItems = 1000;
const maxBytes = 4 * 1024 * 1024;

/** Decrypts and records nothing. */
export async function readSelectionState(
  actor: Actor,
  { vaultId, folder, recursive, names, ids, isExpanded, inheritance }: Selection,
  { database }: { readonly database: Pick<Database, "queryInAccount"> },
): Promise<SelectionState> {
  const vault = await readVault(database, { accountId: actor.accountId, vaultId });
  if (vault === undefined) throw requestFailure({ kind: "not-found" });
  const reach = { scope, vaultId };
  if (!allowsFolder(actor.grant, reach, folder)) throw requestFailure({ kind: "out-of-reach", path: folder });
  // Expanded values also depend on the other vaults that the caller may read.
  const vaultIds = vaultsOf(actor.grant, scope);
  const others = isExpanded
    ? await listVaultRevisions(database, actor.accountId, vaultIds === undefined ? null : [...vaultIds])
    : null;
  const othersPaths = others?.map(({ id }) => pathListsOf(actor.grant, { scope, vaultId: id }));
  const paths = pathListsOf(actor.grant, reach);
  const policy = createHash("sha256").update(
    JSON.stringify([paths, folder, recursive, names, ids, others, othersPaths, inheritance]),
  );
  return { revision: vault.revision, tag: `v${vault.revision}-${policy.digest("base64url").slice(0, 22)}` };
}

/** Verifies and decrypts the values, and records one event before returning them. */
export async function readSelected(
  actor: Actor,
  { selection, event }: { readonly selection: Selection; readonly event: "values-read" | "values-exported" },
  dependencies: ReadDependencies,
): Promise<readonly SelectedValue[]> {
  const { vaultId, folder, isExpanded, inheritance } = selection;
  const own = await selectFolder(actor, selection, dependencies);
  const inherited =
    inheritance && (await selectInherited(actor, { selection, inheritance, own }, dependencies));
  assertSelectionSize([...own.sizes, ...(inherited?.sizes ?? [])]);
  const vaultRef = { accountId: actor.accountId, vaultId };
  const read = async () => (await Promise.all([own.read(), inherited?.read() ?? []])).flat();
  const decrypted = await decryptVersions(vaultRef, read, { ...dependencies, by: actor });
  const located = inheritance === undefined ? decrypted : locate(decrypted, inheritance);
  const values = isExpanded
    ? await expandReferences(actor, { vaultId, values: located, inheritance }, dependencies)
    : located;
  assertResponseSize(values);
  await dependencies.audit.recordRead({
    ...vaultRef,
    by: actor,
    event: { type: event, secrets: decrypted.map(formatVersion), path: folder },
  });
  return values;
}

/** The secrets of one folder that the actor may read. */
type SelectedFolder = {
  readonly sizes: readonly ValueSize[];
  /** Their current versions, as far as they are still there. */
  read(): Promise<readonly ValueRow[]>;
};

type FolderSelection = Pick<Selection, "vaultId" | "folder" | "recursive" | "names" | "ids">;

async function selectFolder(
  actor: Actor,
  { vaultId, folder, recursive, names, ids: chosen }: FolderSelection,
  { database }: Pick<ReadDependencies, "database">,
): Promise<SelectedFolder> {
  const vaultRef = { accountId: actor.accountId, vaultId };
  const reach = { scope, vaultId };
  const search = { folder, recursive, names, prefixes: pathPrefixes(pathListsOf(actor.grant, reach).at(0)) };
  const isAllowed = pathFilter(actor.grant, reach);
  const { page: sizes, next } = await scanPage<ValueSize>({
    limit: maxItems,
    isAllowed,
    after: null,
    read: (after, limit) =>
      listValueSizes(database, vaultRef, { ...search, ids: chosen, limit, after: toPathCursor(after) }),
    cursorOf: pathCursorOf,
  });
  if (next !== undefined) throw tooManySecrets();
  return {
    sizes,
    async read() {
      const ids = sizes.map(({ id }) => id);
      const rows = await readValueRows(database, vaultRef, { ...search, ids });
      // Filtered again: a secret may have been moved since it was selected.
      return isAllowed === undefined ? rows : rows.filter(isAllowed);
    },
  };
}

type InheritedSelection = {
  readonly selection: Selection;
  readonly inheritance: Inheritance;
  readonly own: SelectedFolder;
};

/** What the folder does not have itself. An own value that the actor may not read is not replaced by an inherited one. */
async function selectInherited(
  actor: Actor,
  { selection, inheritance, own }: InheritedSelection,
  dependencies: Pick<ReadDependencies, "database">,
): Promise<SelectedFolder> {
  const folder = toBasePath(inheritance, selection.folder) ?? inheritance.base;
  const found = await selectFolder(actor, { ...selection, folder }, dependencies);
  const ownPaths = new Set(own.sizes.map((size) => joinPath(size.folder, size.name)));
  const inherited = found.sizes.filter((size) => {
    const path = toEnvironmentPath(inheritance, joinPath(size.folder, size.name));
    return !ownPaths.has(path) && allowsPath(actor.grant, { scope, vaultId: selection.vaultId }, path);
  });
  const ids = new Set(inherited.map(({ id }) => id));
  return { sizes: inherited, read: async () => (await found.read()).filter(({ id }) => ids.has(id)) };
}

/** Ordered by the paths at which the values appear. */
function locate(values: readonly DecryptedValue[], inheritance: Inheritance): readonly SelectedValue[] {
  return values
    .map((value) => {
      const isOwn = isInFolder(inheritance.environment, value.path);
      return {
        ...value,
        path: isOwn ? value.path : toEnvironmentPath(inheritance, value.path),
        from: value.path,
      };
    })
    .toSorted((left, right) => (left.path < right.path ? -1 : 1));
}

/** Checked before any value is fetched: a folder may be larger than this process's memory. */
function assertSelectionSize(selected: readonly ValueSize[]): void {
  if (selected.length > maxItems) throw tooManySecrets();
  const bytes = selected.reduce((sum, { size }) => sum + size, 0);
  if (bytes > maxBytes) throw selectionTooLarge();
}

/** The size in the response, where JSON escapes and base64 take more bytes than the stored value. */
function assertResponseSize(values: readonly DecryptedValue[]): void {
  const bytes = values.reduce((sum, { value, type }) => sum + countJsonBytes(value, type), 0);
  if (bytes > maxBytes) throw selectionTooLarge();
}

function tooManySecrets(): Error {
  return invalidFile([
    { field: "path", reason: `selects more than ${maxItems} secrets; narrow it by path or names` },
  ]);
}

function selectionTooLarge(): Error {
  return invalidFile([
    { field: "path", reason: `selects more than ${maxBytes} bytes of values; narrow it by path or names` },
  ]);
}
