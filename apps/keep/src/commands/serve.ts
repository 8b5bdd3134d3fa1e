/**
 * @module
 * The verbs of the command line, one per file. Each takes its settings and parts and ends by returning;
 * what goes wrong is thrown as a Failure, which `main.ts` turns into a sentence and an exit code.
 * Imported by `main.ts` only.
 */
import { FailureError } from "@hearth-and-keep/failures";
import { serveUntil } from "@hearth-and-keep/http-service";
import type { ServeConfig } from "../config.ts";
import type { Database } from "../database/open-database.ts";
import type { Failure } from "../failures.ts";
import { checkKey } from "../keys/check-key.ts";
import { readKey } from "../keys/key-encryption-key.ts";
import { createVaultServer, type KeepLogger } from "../server.ts";

export type ServeParts = {
  readonly logger: KeepLogger;
  readonly openDatabase: (url: string) => Promise<Database>;
  readonly readOrRecordActiveKey: (database: Database, fingerprint: string) => Promise<string>;
  readonly answersQuestions: (database: Database) => Promise<boolean>;
  /** One line on standard output for the person or script that started us. */
  readonly print: (line: string) => void;
  /** Fires when the server is asked to end. */
  readonly signal: AbortSignal;
};

export async function serve(config: ServeConfig, parts: ServeParts): Promise<void> {
  const { logger, signal } = parts;
  if (config.databaseUrl === undefined) throw new FailureError<Failure>({ kind: "database-not-set" });
  const key = readKey(config.encryptionKey);
  await using database = await parts.openDatabase(config.databaseUrl.reveal());
  logger.info("Database ready", database.migrations);
  await checkKey(key, {
    readOrRecordActiveKey: (fingerprint) => parts.readOrRecordActiveKey(database, fingerprint),
  });
  logger.info("Encryption key accepted", { fingerprint: key.fingerprint });
  const server = createVaultServer({ logger, isDatabaseReady: () => parts.answersQuestions(database) });
  await serveUntil(server, config, {
    signal,
    onListening: (url) => {
      logger.info("Listening", { url });
      parts.print(`Keep listens on ${url}`);
    },
  });
  logger.info("Stopped");
}
