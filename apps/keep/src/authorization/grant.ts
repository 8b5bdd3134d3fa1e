import { addressesCover } from "./addresses.ts";
import { covers, type Scope, scopes, widen } from "./scopes.ts";
import { isWithin, pathsCover } from "./secret-paths.ts";

/** What a token may: its scopes, and where. An absent limit limits nothing; a list limits to what is on it. */
export type Grant = {
  /** With everything that they imply. */
  readonly scopes: ReadonlySet<Scope>;
  readonly vaultIds?: ReadonlySet<string>;
  /** Patterns of secrets' paths, such as `/prod/**`. */
  readonly paths?: readonly string[];
  /** Addresses or ranges that it may be used from. */
  readonly addresses?: readonly string[];
  readonly expiresAt?: Date;
};

/** What a person may in their own account: everything. */
export const everything: Grant = { scopes: widen(scopes) };

/** Whether all that the child may, the parent may too. A token mints none that reaches further than itself. */
export function grantCovers(parent: Grant, child: Grant): boolean {
  return (
    covers(parent.scopes, child.scopes) &&
    vaultsCover(parent.vaultIds, child.vaultIds) &&
    pathsCover(parent.paths, child.paths) &&
    addressesCover(parent.addresses, child.addresses) &&
    (parent.expiresAt === undefined || (child.expiresAt !== undefined && child.expiresAt <= parent.expiresAt))
  );
}

/** Whether this vault is there at all, as far as the holder is concerned. */
export function reachesVault({ vaultIds }: Grant, vaultId: string): boolean {
  return vaultIds === undefined || vaultIds.has(vaultId);
}

/** Whether this secret is there at all, as far as the holder is concerned. The path is folder and name in one. */
export function reachesPath({ paths }: Grant, path: string): boolean {
  return paths === undefined || paths.some((pattern) => isWithin(pattern, path));
}

function vaultsCover(
  parent: ReadonlySet<string> | undefined,
  child: ReadonlySet<string> | undefined,
): boolean {
  if (parent === undefined) return true;
  return child !== undefined && [...child].every((id) => parent.has(id));
}
