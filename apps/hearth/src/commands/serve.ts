/**
 * @module
 * The verbs of the command line, one per file. Each takes its settings and parts and ends by returning;
 * what goes wrong is thrown as a Failure, which `main.ts` turns into a sentence and an exit code.
 * Imported by `main.ts` only.
 */
import { isIPv4 } from "node:net";
import { FailureError } from "@hearth-and-keep/failures";
import { serveUntil } from "@hearth-and-keep/http-service";
import type { ServeConfig } from "../config.ts";
import type { Failure } from "../failures.ts";
import { createModelServer, type HearthLogger } from "../server.ts";

export type ServeParts = {
  readonly logger: HearthLogger;
  /** One line on standard output for the person or script that started us. */
  readonly print: (line: string) => void;
  /** Fires when the server is asked to end. */
  readonly signal: AbortSignal;
  /** One sentence for each wall around models that this machine lacks. */
  readonly missingProtections: readonly string[];
};

export async function serve(config: ServeConfig, parts: ServeParts): Promise<void> {
  const { logger, print, signal } = parts;
  if (!isLoopback(config.host) && !config.allowInsecureBind) {
    throw new FailureError<Failure>({ kind: "insecure-bind", host: config.host });
  }
  for (const protection of parts.missingProtections) logger.warn("Protection missing", { protection });
  await serveUntil(createModelServer({ logger }), config, {
    signal,
    onListening: (url) => {
      logger.info("Listening", { url });
      print(`Hearth listens on ${url}`);
    },
  });
  logger.info("Stopped");
}

function isLoopback(host: string): boolean {
  return host === "localhost" || host === "::1" || (isIPv4(host) && host.startsWith("127."));
}
