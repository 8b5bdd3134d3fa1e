/**
 * @module
 * The verbs of the command line, one per file. Each takes its settings and parts and ends by returning;
 * what goes wrong is thrown as a Failure, which `main.ts` turns into a sentence and an exit code.
 * Imported by `main.ts` only.
 */
import { isIPv4 } from "node:net";
import { FailureError } from "@hearth-and-keep/failures";
import { serveUntil } from "@hearth-and-keep/http-service";
import type { EngineDriver } from "@hearth-and-keep/llama-engine";
import type { ServeConfig } from "../config.ts";
import type { CommandFailure } from "../failures.ts";
import { createCatalog } from "../models/catalog.ts";
import { openStores } from "../models/open-stores.ts";
import { createScheduler } from "../scheduling/scheduler.ts";
import { createModelServer, type HearthLogger } from "../server.ts";

export type ServeParts = {
  readonly driver: EngineDriver;
  readonly logger: HearthLogger;
  /** One line on standard output for the person or script that started us. */
  readonly print: (line: string) => void;
  /** Fires when the server is asked to end. */
  readonly signal: AbortSignal;
  /** One sentence for each wall around models that this machine lacks. */
  readonly missingProtections: readonly string[];
};

export async function serve(config: ServeConfig, parts: ServeParts): Promise<void> {
  const { driver, logger, print, signal } = parts;
  if (!isLoopback(config.host) && !config.allowInsecureBind) {
    throw new FailureError<CommandFailure>({ kind: "insecure-bind", host: config.host });
  }
  for (const protection of parts.missingProtections) logger.warn("Protection missing", { protection });
  const models = createCatalog(await openStores(config.models));
  const scheduler = createScheduler({ driver });
  const server = createModelServer({ models, scheduler, logger, access: { keys: [] } });
  await serveUntil(server, config, {
    signal,
    onListening: (url) => {
      logger.info("Listening", { url });
      print(`Hearth listens on ${url}`);
    },
    onClosing: (graceSeconds) => scheduler.close(graceSeconds),
  });
  logger.info("Stopped");
}

function isLoopback(host: string): boolean {
  return host === "localhost" || host === "::1" || (isIPv4(host) && host.startsWith("127."));
}
