import { requestFailure } from "../failures.ts";
import { addressesCover } from "./addresses.ts";
import { matchesBelow, pathMatcher, patternsCover } from "./path-patterns.ts";
import { expandScopes, type Scope, scopes, scopesCover } from "./scopes.ts";

/** What a caller is allowed to do. An absent restriction allows everything; a list allows only its entries. */
export type Grant = {
  /** Including implied scopes. */
  readonly scopes: ReadonlySet<Scope>;
  readonly vaultIds?: ReadonlySet<string>;
  /** Path patterns such as `/prod/**`; see `path-patterns.ts`. */
  readonly paths?: readonly string[];
  /** Client addresses or ranges. */
  readonly addresses?: readonly string[];
  readonly expiresAt?: Date;
};

/** A signed-in person's grant in their own account. */
export const fullGrant: Grant = { scopes: expandScopes(scopes) };

/** Of a member of an organisation, whose role alone opens no vault. */
export const emptyGrant: Grant = { scopes: new Set() };

/** Whether the parent allows everything that the child allows. A token cannot create one that exceeds its own grant. */
export function grantCovers(parent: Grant, child: Grant): boolean {
  return (
    scopesCover(parent.scopes, child.scopes) &&
    limitsCover(parent, child) &&
    addressesCover(parent.addresses, child.addresses) &&
    (parent.expiresAt === undefined || (child.expiresAt !== undefined && child.expiresAt <= parent.expiresAt))
  );
}

/** Whether everything that the other grant's limits allow is within this grant's vaults and paths. */
export function limitsCover(grant: Grant, other: Grant): boolean {
  return vaultsCover(grant.vaultIds, other.vaultIds) && patternsCover(grant.paths, other.paths);
}

/** A vault that is not allowed is reported as not found. */
export function allowsVault({ vaultIds }: Grant, vaultId: string): boolean {
  return vaultIds === undefined || vaultIds.has(vaultId);
}

/** `path` is the secret's folder and name joined. */
export function allowsPath({ paths }: Grant, path: string): boolean {
  return paths === undefined || pathMatcher(paths)(path);
}

/** For a path that the request names, so a refusal may repeat it; a secret found by id is "not found" instead. */
export function assertPathAllowed(grant: Grant, path: string): void {
  if (!allowsPath(grant, path)) throw requestFailure({ kind: "out-of-reach", path });
}

/** The whole folder, with everything in it now or later, must be matched by a single pattern. */
export function assertFolderAllowed(grant: Grant, folder: string): void {
  if (!allowsWholeFolder(grant, folder))
    throw requestFailure({ kind: "out-of-reach", path: contentsOf(folder) });
}

/** As `assertFolderAllowed`. */
export function allowsWholeFolder({ paths }: Grant, folder: string): boolean {
  return paths === undefined || paths.some((pattern) => patternsCover([pattern], [contentsOf(folder)]));
}

function contentsOf(folder: string): string {
  return folder === "/" ? "/**" : `${folder}/**`;
}

/** Whether the grant allows some path below the folder; other folders are left out of lists. */
export function allowsFolder({ paths }: Grant, folder: string): boolean {
  return paths === undefined || paths.some((pattern) => matchesBelow(pattern, folder));
}

function vaultsCover(
  parent: ReadonlySet<string> | undefined,
  child: ReadonlySet<string> | undefined,
): boolean {
  if (parent === undefined) return true;
  return child !== undefined && [...child].every((id) => parent.has(id));
}
