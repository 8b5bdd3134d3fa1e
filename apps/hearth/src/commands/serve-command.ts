import { addSettings, shutdownSignal } from "@hearth-and-keep/command-line";
import { createLogger } from "@hearth-and-keep/logging";
import { readEngineLocations, readServeConfig, serveSettings } from "../config.ts";
import { logFields } from "../server.ts";
import type { DefineCommand } from "./command-entry.ts";
import { openLogFile } from "./log-file.ts";
import { serve } from "./serve.ts";

function print(line: string): void {
  process.stdout.write(`${line}\n`);
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
        loadSettings: config.threads === 0 ? {} : { threads: config.threads },
        onWarning: (protection) => logger.warn("Engine selection", { protection }),
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
