/**
 * @module
 * Keep, the secrets vault. A request's way: `routes.ts` says which handler, the handler calls one use case,
 * `queries.ts` files hold the SQL. `main.ts` reads words, builds the parts and runs one command of `commands/`;
 * nothing imports it.
 */
import { addSettings, Command, endSignal, runProgram } from "@hearth-and-keep/command-line";
import { FailureError } from "@hearth-and-keep/failures";
import { createLogger } from "@hearth-and-keep/logging";
import manifest from "../package.json" with { type: "json" };
import { serve } from "./commands/serve.ts";
import { type AskedVerification, verifyDatabase, verifyExport } from "./commands/verify-audit.ts";
import {
  readServeConfig,
  readStorageConfig,
  type StorageConfig,
  serveSettings,
  storageSettings,
} from "./config.ts";
import { openDatabase } from "./database/open-database.ts";
import { whyNotReady } from "./database/queries.ts";
import { explainFailure, type Failure } from "./failures.ts";
import { makeKeyText } from "./keys/key-encryption-key.ts";
import { logFields } from "./server.ts";

const program = new Command("keep")
  .description("Keep the secrets of people and programs")
  .version(manifest.version);
const print = (line: string): void => void process.stdout.write(`${line}\n`);

addSettings(program.command("serve").description("Start the server"), serveSettings).action(
  async ({ config: filePath, ...flags }: Record<string, string | undefined>) => {
    const config = readServeConfig(flags, filePath);
    const logger = createLogger({ level: config.logLevel, allowedFields: logFields });
    const signal = endSignal();
    await serve(config, { logger, openDatabase, whyNotReady, print, signal });
  },
);

program
  .command("make-key")
  .description("Print a new encryption key; store it where the database is not")
  .action(() => print(makeKeyText()));

addSettings(
  program
    .command("audit")
    .description("Audit logs")
    .command("verify")
    .description("Check an exported audit log, or with --database those of a whole database")
    .argument("[export]", "file that GET …/audit/export answered")
    .option("--keys <file>", "public keys that were kept apart, as GET …/audit/keys answers them")
    .option("--checkpoints <file>", "checkpoints that were kept apart, as keep serve writes them")
    .option("--database", "every log of the database that the settings below name"),
  storageSettings,
).action(async (exportFile: string | undefined, flags: Record<string, string | undefined>) => {
  const asked = { keysFile: flags["keys"], checkpointsFile: flags["checkpoints"] };
  if (exportFile === undefined || flags["database"] !== undefined) {
    const {
      config: filePath,
      keys: _keys,
      checkpoints: _checkpoints,
      database: _database,
      ...settings
    } = flags;
    process.exitCode = await verifyStored(readStorageConfig(settings, filePath), asked);
  } else process.exitCode = await verifyExport(exportFile, asked, { print });
});

async function verifyStored(config: StorageConfig, asked: AskedVerification): Promise<number> {
  if (config.databaseUrl === undefined) throw new FailureError<Failure>({ kind: "database-not-set" });
  await using database = await openDatabase({
    url: config.databaseUrl.reveal(),
    migrationUrl: config.migrationDatabaseUrl?.reveal(),
  });
  return await verifyDatabase(asked, { database, print });
}

await runProgram(program, explainFailure);
