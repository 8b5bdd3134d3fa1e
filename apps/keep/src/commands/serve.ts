/**
 * @module
 * The verbs of the command line, one per file. Each takes its settings and parts and ends by returning;
 * what goes wrong is thrown as a Failure, which `main.ts` turns into a sentence and an exit code.
 * Imported by `main.ts` only.
 */
import { FailureError } from "@hearth-and-keep/failures";
import { serveUntil } from "@hearth-and-keep/http-service";
import { createAuditLog } from "../audit/audit-log.ts";
import type { ServeConfig } from "../config.ts";
import type { Database, DatabaseAddresses } from "../database/open-database.ts";
import type { Failure } from "../failures.ts";
import { checkKey } from "../keys/check-key.ts";
import { readKeys } from "../keys/key-encryption-key.ts";
import { openServerKeys } from "../keys/server-keys.ts";
import { createVaultKeys } from "../keys/vault-keys.ts";
import { createVaultServer, type KeepLogger } from "../server.ts";
import { checkToken } from "../tokens/check-token.ts";

export type ServeParts = {
  readonly logger: KeepLogger;
  readonly openDatabase: (addresses: DatabaseAddresses) => Promise<Database>;
  readonly answersQuestions: (database: Database) => Promise<boolean>;
  /** One line on standard output for the person or script that started us. */
  readonly print: (line: string) => void;
  /** Fires when the server is asked to end. */
  readonly signal: AbortSignal;
};

export async function serve(config: ServeConfig, parts: ServeParts): Promise<void> {
  const { logger, signal } = parts;
  if (config.databaseUrl === undefined) throw new FailureError<Failure>({ kind: "database-not-set" });
  const wrapper = readKeys(config.encryptionKey);
  await using database = await parts.openDatabase({
    url: config.databaseUrl.reveal(),
    migrationUrl: config.migrationDatabaseUrl?.reveal(),
  });
  logger.info("Database ready", database.migrations);
  await checkKey(wrapper, database);
  logger.info("Encryption key accepted", { fingerprint: wrapper.fingerprint });
  const vaultKeys = createVaultKeys(database, wrapper);
  const serverKeys = await openServerKeys(database, wrapper);
  const audit = createAuditLog(database);
  const publicUrl = new URL(config.publicUrl ?? `http://${config.host}:${config.port}`);
  const server = createVaultServer({
    logger,
    database,
    vaultKeys,
    serverKeys,
    audit,
    isDatabaseReady: () => parts.answersQuestions(database),
    access: {
      publicUrl,
      sessionCookie: publicUrl.protocol === "https:" ? "__Host-session" : "session",
      checkToken: (text, address) => checkToken(text, address, { database }),
      checkSession: async () => undefined,
    },
  });
  await serveUntil(server, config, {
    signal,
    onListening: (url) => {
      logger.info("Listening", { url });
      parts.print(`Keep listens on ${url}`);
    },
  });
  logger.info("Stopped");
}
