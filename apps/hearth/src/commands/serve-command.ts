import { homedir } from "node:os";
import { addSettings, shutdownSignal } from "@hearth-and-keep/command-line";
import { FailureError } from "@hearth-and-keep/failures";
import type { PromptStore } from "@hearth-and-keep/llama-engine";
import { createLogger } from "@hearth-and-keep/logging";
import { readEngineLocations, readServeConfig, type ServeConfig, serveSettings } from "../config.ts";
import { explainFolderError } from "../encryption/machine-key.ts";
import type { CommandFailure } from "../failures.ts";
import { logFields } from "../server.ts";
import { appPaths } from "../server-client/app-paths.ts";
import type { DefineCommand } from "./command-entry.ts";
import { openLogFile } from "./log-file.ts";
import { readLoadSettings, serve } from "./serve.ts";

function print(line: string): void {
  process.stdout.write(`${line}\n`);
}

const gibibyte = 1024 ** 3;

/** Loaded only with a prompt cache. */
async function openPromptStore(config: ServeConfig): Promise<PromptStore | undefined> {
  const { promptCacheDir, promptCacheSize, promptCacheSizeTotal, promptCacheMemory } = config;
  if (promptCacheDir === undefined && promptCacheMemory === undefined) return undefined;
  const { createMemoryCache, openPromptCache } = await import("../prompt-cache/open-prompt-cache.ts");
  if (promptCacheDir === undefined) {
    return createMemoryCache({ maxBytes: promptCacheMemory ?? 0, maxTotalBytes: promptCacheMemory ?? 0 });
  }
  const folder = promptCacheDir.replace(/^~(?=\/)/u, homedir());
  const limits = {
    maxBytes: promptCacheSize ?? gibibyte,
    maxTotalBytes: promptCacheSizeTotal ?? 4 * gibibyte,
  };
  try {
    return await openPromptCache(limits, { folder, keyFile: appPaths().responseKey });
  } catch (error) {
    const reason = explainFolderError(error);
    if (reason === undefined) throw error;
    throw new FailureError<CommandFailure>(
      { kind: "prompt-cache-unusable", folder, reason },
      { cause: error },
    );
  }
}

export const define: DefineCommand = (command, { openEngine }) => {
  addSettings(command, serveSettings).action(
    async ({ config: filePath, ...flags }: Record<string, string | undefined>) => {
      const config = readServeConfig(flags, filePath);
      const { logLevel: level, logFile } = config;
      const write = logFile === undefined ? {} : { write: openLogFile(logFile) };
      const logger = createLogger({ level, allowedFields: logFields, ...write });
      const engine = await openEngine();
      const { driver, summary } = await engine.chooseEngine(config.engine, {
        locations: readEngineLocations(config),
        loadSettings: readLoadSettings(config),
        onWarning: (protection) => logger.warn("Engine selection", { protection }),
        promptStore: await openPromptStore(config),
      });
      print(summary);
      await serve(config, {
        driver,
        logger,
        print,
        signal: shutdownSignal(),
        missingProtections: engine.missingProtections(),
      });
    },
  );
};
