import type { FolderComparison } from "@hearth-and-keep/vault-contract";
import type { Actor } from "../../authorization/actor.ts";
import { assertFolderAllowed } from "../../authorization/grant.ts";
import { requestFailure } from "../../failures.ts";
import type { VaultHeads } from "../../keys/vault-heads/vault-heads.ts";
import type { VaultRef } from "../../keys/vault-keys.ts";
import { pathFilter } from "../allowed-paths.ts";
import { formatVersion } from "../exchange/expand-references.ts";
import { listValueSizes, readValueRows, type ValueSize } from "../queries.ts";
import { type DecryptedValue, decryptVersions, type ReadDependencies } from "../read-value.ts";
import { joinPath } from "../secret-path.ts";
import { findInheritance, toBasePath } from "./inherited-folders.ts";
import { readGenuineVault } from "./read-inheritance.ts";

type CompareDependencies = ReadDependencies & {
  readonly vaultHeads: Pick<VaultHeads, "assertCurrent" | "assertGenuine">;
};

type ComparedFolders = { readonly vaultId: string; readonly left: string; readonly right: string };

type Item = FolderComparison["items"][number];

/**
 * Compares the values of two folders with their subfolders, as they are now: nothing about a value is stored or
 * returned but whether it is the same. The actor must be allowed to read both folders as a whole, and the base's one.
 */
export async function compareFolders(
  actor: Actor,
  { vaultId, left, right }: ComparedFolders,
  dependencies: CompareDependencies,
): Promise<FolderComparison> {
  const reach = { scope: "secrets:read", vaultId } as const;
  for (const folder of [left, right]) assertFolderAllowed(actor.grant, reach, folder);
  const vault = await readGenuineVault(actor, vaultId, dependencies);
  const vaultRef = { accountId: actor.accountId, vaultId };
  const list = async (folder: string, field: string): Promise<Listed> => {
    const inheritance = findInheritance(vault, folder);
    const base = inheritance && toBasePath(inheritance, folder);
    if (base !== undefined) assertFolderAllowed(actor.grant, reach, base);
    const own = await listFolder(vaultRef, { folder, field }, dependencies);
    const inherited =
      base === undefined ? [] : await listFolder(vaultRef, { folder: base, field }, dependencies);
    return { own: new Set(own.keys()), effective: new Map([...inherited, ...own]) };
  };
  const sides = { left: await list(left, "left"), right: await list(right, "right") };
  const names = [...new Set([...sides.left.effective.keys(), ...sides.right.effective.keys()])].toSorted();
  const pairs = names.map((path) => ({
    path,
    left: sides.left.effective.get(path),
    right: sides.right.effective.get(path),
  }));
  const values = await readUncertain(actor, { vaultRef, pairs }, dependencies);
  const items = pairs.flatMap((pair): Item[] => {
    const outcome = comparePair(pair, values);
    return outcome === undefined ? [] : [{ path: pair.path, outcome, ...describeInherited(pair, sides) }];
  });
  const secrets = [...values.values()].map(formatVersion);
  for (const { value } of values.values()) value.fill(0);
  await dependencies.audit.recordRead({
    ...vaultRef,
    by: actor,
    event: { type: "folders-compared", path: left, to: right, secrets },
  });
  return { revision: vault.revision, left, right, items };
}

/** The secrets of a folder by their paths in it, and which of them it has itself. */
type Listed = {
  readonly own: ReadonlySet<string>;
  readonly effective: ReadonlyMap<string, ValueSize>;
};

type Pair = {
  /** In both folders. */
  readonly path: string;
  readonly left: ValueSize | undefined;
  readonly right: ValueSize | undefined;
};

const maxItems = 1000;
const maxBytes = 16 * 1024 * 1024;

async function listFolder(
  vaultRef: VaultRef,
  { folder, field }: { readonly folder: string; readonly field: string },
  { database }: Pick<ReadDependencies, "database">,
): Promise<ReadonlyMap<string, ValueSize>> {
  const search = { folder, recursive: true, names: null, ids: null, prefixes: null };
  const sizes = await listValueSizes(database, vaultRef, { ...search, limit: maxItems + 1, after: null });
  if (sizes.length > maxItems) throw tooLarge(field, `contains more than ${maxItems} secrets`);
  const offset = folder === "/" ? 1 : folder.length + 1;
  return new Map(sizes.map((size) => [joinPath(size.folder, size.name).slice(offset), size]));
}

type ReadPairs = { readonly vaultRef: VaultRef; readonly pairs: readonly Pair[] };

/** The values of equal size, by the ids of their secrets; all others are known to be different without them. */
async function readUncertain(
  actor: Actor,
  { vaultRef, pairs }: ReadPairs,
  dependencies: ReadDependencies,
): Promise<ReadonlyMap<string, DecryptedValue>> {
  const uncertain = pairs.flatMap(({ left, right }) =>
    left === undefined || right === undefined || left.id === right.id || left.size !== right.size
      ? []
      : [left, right],
  );
  const bytes = uncertain.reduce((sum, { size }) => sum + size, 0);
  if (bytes > maxBytes) throw tooLarge("left", `has more than ${maxBytes} bytes of values to compare`);
  const ids = [...new Set(uncertain.map(({ id }) => id))];
  const search = { folder: "/", recursive: true, names: null, prefixes: null, ids };
  const isAllowed = pathFilter(actor.grant, { scope: "secrets:read", vaultId: vaultRef.vaultId });
  const read = async () => {
    const rows = await readValueRows(dependencies.database, vaultRef, search);
    // A secret may have been moved since it was listed.
    return isAllowed === undefined ? rows : rows.filter(isAllowed);
  };
  const values = await decryptVersions(vaultRef, read, { ...dependencies, by: actor });
  return new Map(values.map((value) => [value.id, value]));
}

/** Undefined when both secrets were deleted while they were compared. */
function comparePair(
  { left, right }: Pair,
  values: ReadonlyMap<string, DecryptedValue>,
): Item["outcome"] | undefined {
  if (left === undefined) return "right_only";
  if (right === undefined) return "left_only";
  if (left.id === right.id) return "same";
  if (left.size !== right.size) return "different";
  const leftValue = values.get(left.id);
  const rightValue = values.get(right.id);
  if (leftValue === undefined) return rightValue === undefined ? undefined : "right_only";
  if (rightValue === undefined) return "left_only";
  const isSame = leftValue.type === rightValue.type && leftValue.value.equals(rightValue.value);
  return isSame ? "same" : "different";
}

function describeInherited(
  { path, left, right }: Pair,
  sides: { readonly left: Listed; readonly right: Listed },
): Pick<Item, "inherited"> {
  const isLeft = left !== undefined && !sides.left.own.has(path);
  const isRight = right !== undefined && !sides.right.own.has(path);
  if (isLeft && isRight) return { inherited: "both" };
  if (isLeft) return { inherited: "left" };
  return isRight ? { inherited: "right" } : {};
}

function tooLarge(field: string, reason: string): Error {
  const errors = [{ field, reason: `${reason}; compare subfolders one after the other` }];
  return requestFailure({ kind: "request-invalid", errors });
}
