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
import { authenticateRows } from "./commands/authenticate-rows.ts";
import { serve } from "./commands/serve.ts";
import { type VerificationRequest, verifyDatabase, verifyExport } from "./commands/verify-audit.ts";
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
const print = (line: string): void => void process.stdout.write(`${line}\n`);

addSettings(program.command("serve").description("Start the server"), serveSettings).action(
  async ({ config: filePath, ...flags }: Record<string, string | undefined>) => {
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
).action(async ({ config: filePath, ...flags }: Record<string, string | undefined>) => {
  const config = readStorageConfig(flags, filePath);
  await using database = await openStored(config);
  await authenticateRows({ database, wrapper: readKeys(config.encryptionKey), print });
});

addSettings(
  program
    .command("audit")
    .description("Verify audit logs")
    .command("verify")
    .description("Verify an exported audit log, or with --database every log of a database")
    .argument("[export]", "file downloaded from GET …/audit/export")
    .option("--keys <file>", "trusted public keys, as downloaded from GET …/audit/keys")
    .option("--checkpoints <file>", "trusted checkpoints, as keep serve appends them to its checkpoint file")
    .option("--database", "verify every log of the database that the settings below name"),
  storageSettings,
).action(async (exportFile: string | undefined, flags: Record<string, string | undefined>) => {
  const trusted = { keysFile: flags["keys"], checkpointsFile: flags["checkpoints"] };
  if (exportFile === undefined || flags["database"] !== undefined) {
    const {
      config: filePath,
      keys: _keys,
      checkpoints: _checkpoints,
      database: _database,
      ...settings
    } = flags;
    process.exitCode = await verifyStored(readStorageConfig(settings, filePath), trusted);
  } else process.exitCode = await verifyExport(exportFile, trusted, { print });
});

async function verifyStored(config: StorageConfig, trusted: VerificationRequest): Promise<number> {
  await using database = await openStored(config);
  return await verifyDatabase(trusted, { database, print });
}

async function openStored({ databaseUrl, migrationDatabaseUrl }: StorageConfig): Promise<Database> {
  if (databaseUrl === undefined) throw new FailureError<Failure>({ kind: "database-not-set" });
  return openDatabase({ url: databaseUrl.reveal(), migrationUrl: migrationDatabaseUrl?.reveal() });
}

await runProgram(program, explainFailure);
