/**
 * @module
 * Keep, the secrets vault. A request is routed by `routes.ts` to a handler in `http.ts`, which calls one use case; the
 * SQL is in `queries.ts` files. `main.ts` parses the arguments, reads the settings and runs one command of `commands/`.
 * Nothing imports it.
 */
import { addSettings, Command, runProgram, shutdownSignal } from "@hearth-and-keep/command-line";
import { FailureError } from "@hearth-and-keep/failures";
import { createLogger } from "@hearth-and-keep/logging";
import manifest from "../package.json" with { type: "json" };
import { archiveAudit } from "./commands/archive-audit.ts";
import { authenticateRows } from "./commands/authenticate-rows.ts";
import {
  accountChangeDescriptions,
  accountChanges,
  printAccount,
  printAccounts,
  runAccountChange,
} from "./commands/manage-accounts.ts";
import { serve } from "./commands/serve.ts";
import { verifyArchives } from "./commands/verify-archives.ts";
import { type DatabaseVerificationRequest, verifyDatabase, verifyExport } from "./commands/verify-audit.ts";
import {
  readServeConfig,
  readStorageConfig,
  type StorageConfig,
  serveSettings,
  storageSettings,
} from "./config.ts";
import { type Database, openDatabase } from "./database/open-database.ts";
import { checkDatabaseReadiness } from "./database/queries.ts";
import { explainFailure, type Failure } from "./failures.ts";
import { generateKeyText, readKeys } from "./keys/key-encryption-key.ts";
import { logFields } from "./server.ts";

const program = new Command("keep")
  .description("Store secrets for people and programs")
  .version(manifest.version);
type Flags = Record<string, string | undefined>;
const print = (line: string): void => void process.stdout.write(`${line}\n`);

addSettings(program.command("serve").description("Start the server"), serveSettings).action(
  async ({ config: filePath, ...flags }: Flags) => {
    const config = readServeConfig(flags, filePath);
    const logger = createLogger({ level: config.logLevel, allowedFields: logFields });
    const signal = shutdownSignal();
    await serve(config, { logger, openDatabase, checkDatabaseReadiness, print, signal });
  },
);

program
  .command("generate-key")
  .description("Print a new encryption key; store it separately from the database")
  .action(() => print(generateKeyText()));

addSettings(
  program
    .command("authenticate-rows")
    .description(
      "Authenticate the accounts, identities and tokens of a database from an older version, once",
    ),
  storageSettings,
).action(async ({ config: filePath, ...flags }: Flags) => {
  const config = readStorageConfig(flags, filePath);
  await using database = await openStored(config);
  await authenticateRows({ database, wrapper: readKeys(config.encryptionKey), print });
});

const auditCommand = program.command("audit").description("Verify and archive audit logs");

type VerifyFlags = Record<string, string | undefined> & { readonly archive?: readonly string[] };

addSettings(
  auditCommand
    .command("verify")
    .description(
      "Verify an exported audit log, archive files, or with --database every log of a database and, with the encryption key, its rows",
    )
    .argument("[export]", "file downloaded from GET …/audit/export")
    .option("--keys <file>", "trusted public keys, as downloaded from GET …/audit/keys")
    .option("--checkpoints <file>", "trusted checkpoints, as keep serve appends them to its checkpoint file")
    .option("--archive <files...>", "verify files written by keep audit archive")
    .option("--database", "verify the database that the settings below name"),
  storageSettings,
).action(async (exportFile: string | undefined, { archive, ...flags }: VerifyFlags) => {
  const trusted = { keysFile: flags["keys"], checkpointsFile: flags["checkpoints"] };
  const isOfDatabase = flags["database"] !== undefined || (exportFile ?? archive) === undefined;
  if (isOfDatabase) {
    const {
      config: filePath,
      keys: _keys,
      checkpoints: _checkpoints,
      database: _database,
      ...settings
    } = flags;
    const request = { ...trusted, ...(archive === undefined ? {} : { archiveFiles: archive }) };
    process.exitCode = await verifyStored(readStorageConfig(settings, filePath), request);
  } else if (exportFile === undefined) {
    process.exitCode = await verifyArchives(archive ?? [], trusted, print);
  } else process.exitCode = await verifyExport(exportFile, trusted, { print });
});

addSettings(
  auditCommand
    .command("archive")
    .description(
      "Move the audit records of past months to files, one per month, and delete them from the database",
    )
    .requiredOption("--before <month>", "archive the months before this one, e.g. 2026-01")
    .requiredOption("--to <folder>", "folder for the files; existing files are not overwritten")
    .option("--keys <file>", "trusted public keys, as downloaded from GET …/audit/keys"),
  storageSettings,
).action(async ({ config: filePath, before = "", to: folder = "", keys: keysFile, ...flags }: Flags) => {
  await using database = await openStored(readStorageConfig(flags, filePath));
  process.exitCode = await archiveAudit({ before, folder, keysFile }, { database, print });
});

const accountCommand = program.command("account").description("List, suspend, resume and delete accounts");

addSettings(
  accountCommand.command("list").description("List the accounts with their states and identities"),
  storageSettings,
).action(async ({ config: filePath, ...flags }: Flags) => {
  await using database = await openStored(readStorageConfig(flags, filePath));
  process.exitCode = await printAccounts({ database, print });
});

addSettings(
  accountCommand
    .command("show")
    .description("Show an account and how its people sign in")
    .argument("<account>", "id of the account"),
  storageSettings,
).action(async (accountId: string, { config: filePath, ...flags }: Flags) => {
  await using database = await openStored(readStorageConfig(flags, filePath));
  process.exitCode = await printAccount(accountId, { database, print });
});

for (const change of accountChanges) {
  const command = accountCommand
    .command(change)
    .description(accountChangeDescriptions[change])
    .argument("<account>", "id of the account");
  if (change === "delete") command.requiredOption("--confirm <name>", "display name of the account");
  addSettings(command, storageSettings).action(
    async (accountId: string, { config: filePath, confirm: confirmation, ...flags }: Flags) => {
      const config = readStorageConfig(flags, filePath);
      const wrapper = readKeys(config.encryptionKey);
      await using database = await openStored(config);
      const request = { accountId, change, confirmation };
      process.exitCode = await runAccountChange(request, { database, wrapper, print });
    },
  );
}

async function verifyStored(config: StorageConfig, request: DatabaseVerificationRequest): Promise<number> {
  const wrapper = config.encryptionKey === undefined ? undefined : readKeys(config.encryptionKey);
  await using database = await openStored(config);
  return await verifyDatabase(request, { database, wrapper, print });
}

async function openStored({ databaseUrl, migrationDatabaseUrl }: StorageConfig): Promise<Database> {
  if (databaseUrl === undefined) throw new FailureError<Failure>({ kind: "database-not-set" });
  return openDatabase({ url: databaseUrl.reveal(), migrationUrl: migrationDatabaseUrl?.reveal() });
}

await runProgram(program, explainFailure);
