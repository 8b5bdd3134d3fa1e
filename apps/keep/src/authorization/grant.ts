import { requestFailure } from "../failures.ts";
import { addressesCover } from "./addresses.ts";
import { matchesBelow, pathMatcher, patternsCover } from "./path-patterns.ts";
import { expandScopes, type Scope, scopes } from "./scopes.ts";

/** What a caller is allowed to do: whatever at least one of the permissions allows. */
export type Grant = {
  readonly permissions: readonly Permission[];
  /**
   * Only as far as this one allows it too: that of the member to whom a token belongs. Asked each time, because the
   * intersection of two long lists of path patterns can be too long to compute.
   */
  readonly within?: Grant;
  /** Client addresses or ranges; absent for all. */
  readonly addresses?: readonly string[];
  readonly expiresAt?: Date;
};

/** An absent restriction allows everything; a list allows only its entries. */
export type Permission = {
  /** Including implied scopes. */
  readonly scopes: ReadonlySet<Scope>;
  readonly vaultIds?: ReadonlySet<string>;
  readonly paths?: PathPatterns;
};

/** Such as `/prod/**`; see `path-patterns.ts`. */
type PathPatterns = readonly string[];

/** What is to be done where. */
export type Reach = { readonly scope: Scope; readonly vaultId: string };

/** A signed-in person's grant in their own account. */
export const fullGrant: Grant = { permissions: [{ scopes: expandScopes(scopes) }] };

/** Whether the scope is allowed anywhere. */
export function allowsScope({ permissions, within }: Grant, scope: Scope): boolean {
  return (
    permissions.some((permission) => permission.scopes.has(scope)) &&
    (within === undefined || allowsScope(within, scope))
  );
}

/** A vault that is not allowed is reported as not found. */
export function allowsVault({ permissions, within }: Grant, vaultId: string): boolean {
  return (
    permissions.some((permission) => includesVault(permission, vaultId)) &&
    (within === undefined || allowsVault(within, vaultId))
  );
}

/** Somewhere in the vault. */
export function allowsReach({ permissions, within }: Grant, reach: Reach): boolean {
  const { scope, vaultId } = reach;
  return (
    permissions.some((permission) => permission.scopes.has(scope) && includesVault(permission, vaultId)) &&
    (within === undefined || allowsReach(within, reach))
  );
}

/** The vaults in which the scope is allowed somewhere; undefined for all. */
export function vaultsOf({ permissions, within }: Grant, scope: Scope): ReadonlySet<string> | undefined {
  const outer = within && vaultsOf(within, scope);
  const ids = new Set<string>();
  for (const { scopes: allowed, vaultIds } of permissions) {
    if (!allowed.has(scope)) continue;
    if (vaultIds === undefined) return outer;
    for (const id of vaultIds) ids.add(id);
  }
  return outer === undefined ? ids : ids.intersection(outer);
}

/** The path patterns of the permissions themselves that limit the reach; undefined for every path, empty for none. */
export function pathsOf(grant: Grant, { scope, vaultId }: Reach): PathPatterns | undefined {
  const [only, ...others] = grant.permissions;
  const isOnly = only !== undefined && others.length === 0;
  if (isOnly) return only.scopes.has(scope) && includesVault(only, vaultId) ? only.paths : noPaths;
  const key = `${scope} ${vaultId}`;
  const known = knownPaths.get(grant) ?? new Map<string, PathPatterns | undefined>();
  knownPaths.set(grant, known);
  if (known.has(key)) return known.get(key);
  const paths = unitePaths(
    grant.permissions.filter(
      (permission) => permission.scopes.has(scope) && includesVault(permission, vaultId),
    ),
  );
  known.set(key, paths);
  return paths;
}

const noPaths: PathPatterns = [];
/** The same list for the same question, because lists are compiled once. */
const knownPaths = new WeakMap<Grant, Map<string, PathPatterns | undefined>>();

function unitePaths(permissions: readonly Permission[]): PathPatterns | undefined {
  if (permissions.some(({ paths }) => paths === undefined)) return undefined;
  return permissions.flatMap(({ paths = [] }) => paths);
}

function includesVault({ vaultIds }: Permission, vaultId: string): boolean {
  return vaultIds === undefined || vaultIds.has(vaultId);
}

/** Every list of path patterns that limits the reach. A path must match all; none limits nothing. */
export function pathListsOf(grant: Grant, reach: Reach): readonly PathPatterns[] {
  const paths = pathsOf(grant, reach);
  const outer = grant.within === undefined ? [] : pathListsOf(grant.within, reach);
  return paths === undefined ? outer : [paths, ...outer];
}

/** `path` is the secret's folder and name joined. */
export function allowsPath(grant: Grant, reach: Reach, path: string): boolean {
  return pathListsOf(grant, reach).every((paths) => pathMatcher(paths)(path));
}

export function assertScopeAllowed(grant: Grant, reach: Reach): void {
  if (!allowsReach(grant, reach)) throw requestFailure({ kind: "insufficient-scope", scope: reach.scope });
}

/** For a path that the request names, so a refusal may repeat it; a secret found by id is "not found" instead. */
export function assertPathAllowed(grant: Grant, reach: Reach, path: string): void {
  if (!allowsPath(grant, reach, path)) throw requestFailure({ kind: "out-of-reach", path });
}

/** The whole folder, with everything in it now or later, must be matched by a single pattern. */
export function assertFolderAllowed(grant: Grant, reach: Reach, folder: string): void {
  if (!allowsWholeFolder(grant, reach, folder))
    throw requestFailure({ kind: "out-of-reach", path: contentsOf(folder) });
}

/** As `assertFolderAllowed`. */
export function allowsWholeFolder(grant: Grant, reach: Reach, folder: string): boolean {
  return pathListsOf(grant, reach).every((paths) =>
    paths.some((pattern) => patternsCover([pattern], [contentsOf(folder)])),
  );
}

function contentsOf(folder: string): string {
  return folder === "/" ? "/**" : `${folder}/**`;
}

/** Whether every list allows some path below the folder; other folders are left out of lists. */
export function allowsFolder(grant: Grant, reach: Reach, folder: string): boolean {
  return pathListsOf(grant, reach).every((paths) => paths.some((pattern) => matchesBelow(pattern, folder)));
}

/** For what concerns a whole account, with all its vaults. */
export function assertAccountAllowed({ permissions, within }: Grant, scope: Scope): void {
  const isAllowed = permissions.some(
    ({ scopes: allowed, vaultIds, paths }) =>
      allowed.has(scope) && vaultIds === undefined && coversEverything(paths),
  );
  if (!isAllowed) throw requestFailure({ kind: "out-of-reach", path: "/**" });
  if (within !== undefined) assertAccountAllowed(within, scope);
}

function coversEverything(paths: PathPatterns | undefined): boolean {
  return paths === undefined || paths.some((pattern) => patternsCover([pattern], ["/**"]));
}

/**
 * Whether the parent allows everything that the child's permissions do, within its addresses and expiry. A token cannot
 * create one that exceeds its own grant.
 */
export function grantCovers(parent: Grant, child: Grant): boolean {
  return (
    (parent.within === undefined || grantCovers(parent.within, child)) &&
    child.permissions.every((permission) => permissionsCover(parent.permissions, permission)) &&
    addressesCover(parent.addresses, child.addresses) &&
    (parent.expiresAt === undefined || (child.expiresAt !== undefined && child.expiresAt <= parent.expiresAt))
  );
}

/** The parents, possibly only together. */
function permissionsCover(parents: readonly Permission[], child: Permission): boolean {
  return [...child.scopes].every((scope) =>
    pathsCover(
      parents.filter((parent) => parent.scopes.has(scope)),
      child,
    ),
  );
}

/** Whether everything that the other grant's limits allow is within this grant's vaults and paths, whatever the scopes. */
export function limitsCover({ permissions, within }: Grant, other: Grant): boolean {
  return (
    other.permissions.every((permission) => pathsCover(permissions, permission)) &&
    (within === undefined || limitsCover(within, other))
  );
}

function pathsCover(
  parents: readonly Permission[],
  { vaultIds, paths }: Pick<Permission, "vaultIds" | "paths">,
): boolean {
  const covers = (within: readonly Permission[]): boolean =>
    within.length > 0 && patternsCover(unitePaths(within), paths);
  if (vaultIds === undefined) return covers(parents.filter((parent) => parent.vaultIds === undefined));
  return [...vaultIds].every((id) => covers(parents.filter((parent) => includesVault(parent, id))));
}
