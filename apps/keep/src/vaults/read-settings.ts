import type { VaultChangesBody } from "@hearth-and-keep/vault-contract";
import { findPatternErrors, splitPath } from "../authorization/path-patterns.ts";
import { requestFailure } from "../failures.ts";
import { parseFolder, parseSecretPath } from "../secrets/secret-path.ts";
import type { VaultSettings } from "./queries.ts";

/** The settings that a request contains. */
export function readSettings(body: VaultChangesBody): Partial<VaultSettings> {
  const { name, demands_preconditions: requiresPreconditions, most_versions: maxVersions } = body;
  const { when_versions_full: policy, environments, base, protected_paths: protectedPaths } = body;
  return {
    ...(name === undefined ? {} : { name }),
    ...(requiresPreconditions === undefined ? {} : { requiresPreconditions }),
    ...(maxVersions === undefined ? {} : { maxVersions }),
    ...(policy === undefined ? {} : { prunesVersions: policy === "destroy-oldest" }),
    ...(environments === undefined ? {} : { environments: readEnvironments(environments) }),
    ...(base === undefined ? {} : { baseFolder: base === null ? null : parseTopFolder(base, "base") }),
    ...(protectedPaths === undefined ? {} : { protectedPaths: readPatterns(protectedPaths) }),
  };
}

function readEnvironments(names: readonly string[]): readonly string[] {
  const folders = names.map((name, index) => parseTopFolder(name, `environments.${index}`));
  const repeated = folders.findIndex((folder, index) => folders.indexOf(folder) !== index);
  if (repeated !== -1) throw invalidSetting(`environments.${repeated}`, "must not be listed twice");
  return folders.map((folder) => folder.slice(1));
}

function readPatterns(patterns: readonly string[]): readonly string[] {
  const [error] = findPatternErrors(patterns, "protected_paths");
  if (error !== undefined) throw invalidSetting(error.field, error.reason);
  for (const [index, pattern] of patterns.entries()) assertMatchesPaths(pattern, `protected_paths.${index}`);
  return patterns;
}

/** A pattern that no secret's path can match, as one with a space at the end of a segment, would protect nothing. */
function assertMatchesPaths(pattern: string, field: string): void {
  parseSecretPath(pattern.replaceAll(/\/\*{1,2}(?=\/|$)/gu, "/any"), field);
}

function parseTopFolder(text: string, field: string): string {
  const folder = parseFolder(text, field);
  if (splitPath(folder).length === 1) return folder;
  throw invalidSetting(field, "must be a folder at the top of the vault");
}

function invalidSetting(field: string, reason: string): Error {
  return requestFailure({ kind: "request-invalid", errors: [{ field, reason }] });
}
