import { matchesBelow, pathMatcher, patternsCover } from "../../authorization/path-patterns.ts";
import { requestFailure } from "../../failures.ts";
import type { VaultChange } from "../../vaults/open-changes.ts";
import type { VaultDetailRow, VaultSettings } from "../../vaults/queries.ts";
import { type EnvironmentSettings, toEnvironmentPath } from "../environments/inherited-folders.ts";
import { isInFolder } from "../secret-path.ts";

/** The settings of a vault that decide what is protected. */
type ProtectionSettings = EnvironmentSettings & Pick<VaultDetailRow, "protected_paths">;

type GuardedChange = Pick<VaultChange, "vault" | "mayChangeProtected">;

/** Throws "approval-required" for a secret at a protected path; called for every row before it is changed or removed. */
export function assertChangeable({ vault, mayChangeProtected }: GuardedChange, ...paths: string[]): void {
  if (mayChangeProtected || vault.protected_paths.length === 0) return;
  const found = paths.find((path) => isProtected(vault, path));
  if (found !== undefined) throw requestFailure({ kind: "approval-required", subject: found });
}

/** The same for a change of the whole vault, which has something protected. */
export function assertVaultChangeable({ vault, mayChangeProtected }: GuardedChange): void {
  if (mayChangeProtected || vault.protected_paths.length === 0) return;
  throw requestFailure({ kind: "approval-required", subject: "The vault" });
}

/**
 * The same for settings: nothing may lose its protection, inherit from elsewhere at a protected path, or lose more
 * versions with later writes.
 */
export function assertSettingsChangeable(
  { vault, mayChangeProtected }: GuardedChange,
  next: VaultSettings,
): void {
  if (mayChangeProtected || vault.protected_paths.length === 0) return;
  const isKept =
    patternsCover(next.protectedPaths, vault.protected_paths) &&
    describeInheritance(vault.protected_paths, vault) ===
      describeInheritance(vault.protected_paths, {
        environments: next.environments,
        base_folder: next.baseFolder,
      }) &&
    !prunesMore(vault, next);
  if (!isKept) throw requestFailure({ kind: "approval-required", subject: "This setting" });
}

/** Whether later writes destroy versions that they would not have destroyed before. */
export function prunesMore(
  before: Pick<VaultDetailRow, "prunes_versions" | "most_versions">,
  { prunesVersions, maxVersions }: Pick<VaultSettings, "prunesVersions" | "maxVersions">,
): boolean {
  return prunesVersions && (!before.prunes_versions || maxVersions < before.most_versions);
}

/** A path of the base counts as the paths at which environments inherit it. */
function isProtected({ protected_paths, environments, base_folder: base }: ProtectionSettings, path: string) {
  const matches = pathMatcher(protected_paths);
  if (matches(path)) return true;
  if (base === null || !isInFolder(base, path)) return false;
  return environments.some((name) => matches(toEnvironmentPath({ environment: `/${name}`, base }, path)));
}

/** From where the environments inherit that have something protected. */
function describeInheritance(
  patterns: readonly string[],
  { environments, base_folder: base }: EnvironmentSettings,
): string {
  const inheriting = environments.filter((name) =>
    patterns.some((pattern) => matchesBelow(pattern, `/${name}`)),
  );
  return JSON.stringify(base === null || inheriting.length === 0 ? [] : [base, ...inheriting.toSorted()]);
}
