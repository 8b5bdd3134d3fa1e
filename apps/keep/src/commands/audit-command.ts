import { addSettings } from "@hearth-and-keep/command-line";
import { readStorageConfig, type StorageConfig, storageSettings } from "../config.ts";
import { hasKeys, openKeys } from "../keys/custody/open-keys.ts";
import { archiveAudit } from "./archive-audit.ts";
import type { DefineCommand } from "./command-entry.ts";
import { openStored, print, type SettingFlags } from "./open-stored.ts";
import { verifyArchives } from "./verify-archives.ts";
import { type DatabaseVerificationRequest, verifyDatabase, verifyExport } from "./verify-audit.ts";

type VerifyFlags = SettingFlags & { readonly archive?: readonly string[] };

export const define: DefineCommand = (command) => {
  addSettings(
    command
      .command("verify")
      .description(
        "Verify an exported audit log, archive files, or with --database every log of a database and, with the encryption key, its rows",
      )
      .argument("[export]", "file downloaded from GET …/audit/export")
      .option("--keys <file>", "trusted public keys, as downloaded from GET …/audit/keys")
      .option(
        "--checkpoints <file>",
        "trusted checkpoints, as keep serve appends them to its checkpoint file",
      )
      .option("--archive <files...>", "verify files written by keep audit archive")
      .option("--database", "verify the database that the settings below name"),
    storageSettings,
  ).action(verify);
  addSettings(
    command
      .command("archive")
      .description(
        "Move the audit records of past months to files, one per month, and delete them from the database",
      )
      .requiredOption("--before <month>", "archive the months before this one, e.g. 2026-01")
      .requiredOption("--to <folder>", "folder for the files; existing files are not overwritten")
      .option("--keys <file>", "trusted public keys, as downloaded from GET …/audit/keys"),
    storageSettings,
  ).action(archive);
};

async function verify(
  exportFile: string | undefined,
  { archive: files, ...flags }: VerifyFlags,
): Promise<void> {
  const trusted = { keysFile: flags["keys"], checkpointsFile: flags["checkpoints"] };
  const isOfDatabase = flags["database"] !== undefined || (exportFile ?? files) === undefined;
  if (isOfDatabase) {
    const {
      config: filePath,
      keys: _keys,
      checkpoints: _checkpoints,
      database: _database,
      ...settings
    } = flags;
    const request = { ...trusted, ...(files === undefined ? {} : { archiveFiles: files }) };
    process.exitCode = await verifyStored(readStorageConfig(settings, filePath), request);
  } else if (exportFile === undefined) {
    process.exitCode = await verifyArchives(files ?? [], trusted, print);
  } else process.exitCode = await verifyExport(exportFile, trusted, { print });
}

async function archive({
  config: filePath,
  before = "",
  to: folder = "",
  keys: keysFile,
  ...flags
}: SettingFlags): Promise<void> {
  await using database = await openStored(readStorageConfig(flags, filePath));
  process.exitCode = await archiveAudit({ before, folder, keysFile }, { database, print });
}

async function verifyStored(config: StorageConfig, request: DatabaseVerificationRequest): Promise<number> {
  const wrapper = hasKeys(config) ? await openKeys(config) : undefined;
  await using database = await openStored(config);
  return await verifyDatabase(request, { database, wrapper, print });
}
