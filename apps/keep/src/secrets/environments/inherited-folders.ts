import { splitPath } from "../../authorization/path-patterns.ts";
import type { VaultDetailRow } from "../../vaults/queries.ts";
import { isInFolder } from "../secret-path.ts";

/** The settings of a vault that decide what a folder inherits. */
export type EnvironmentSettings = Pick<VaultDetailRow, "environments" | "base_folder">;

/** An environment's folder, and the one from which it inherits. */
export type Inheritance = { readonly environment: string; readonly base: string };

/** Undefined when the folder is in no environment, or the vault has no base. */
export function findInheritance(
  { environments, base_folder: base }: EnvironmentSettings,
  folder: string,
): Inheritance | undefined {
  const [name] = splitPath(folder);
  if (base === null || name === undefined || !environments.includes(name)) return undefined;
  return { environment: `/${name}`, base };
}

/** Where the environment's path is in the base; undefined for a path elsewhere. */
export function toBasePath({ environment, base }: Inheritance, path: string): string | undefined {
  return isInFolder(environment, path) ? base + path.slice(environment.length) : undefined;
}

/** Where a path of the base appears in the environment. */
export function toEnvironmentPath({ environment, base }: Inheritance, path: string): string {
  return environment + path.slice(base.length);
}

/**
 * The folders in which relative references in a folder's values can resolve: of an environment, the base too; of the
 * base, every environment too.
 */
export function listResolvingFolders(
  { environments, base_folder: base }: EnvironmentSettings,
  folder: string,
): readonly string[] {
  const inheritance = findInheritance({ environments, base_folder: base }, folder);
  const inherited = inheritance && toBasePath(inheritance, folder);
  if (inherited !== undefined) return [folder, inherited];
  if (base === null || !isInFolder(base, folder)) return [folder];
  return [
    folder,
    ...environments.map((name) => toEnvironmentPath({ environment: `/${name}`, base }, folder)),
  ];
}
