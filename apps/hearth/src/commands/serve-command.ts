import { addSettings, endSignal } from "@hearth-and-keep/command-line";
import { createLogger } from "@hearth-and-keep/logging";
import { readEnginePlaces, readServeConfig, serveSettings } from "../config.ts";
import { logFields } from "../server.ts";
import type { Define } from "./command-row.ts";
import { openLogFile } from "./log-file.ts";
import { serve } from "./serve.ts";

function print(line: string): void {
  process.stdout.write(`${line}\n`);
}

export const define: Define = (command, { openEngine }) => {
  addSettings(command, serveSettings).action(
    async ({ config: filePath, ...flags }: Record<string, string | undefined>) => {
      const config = readServeConfig(flags, filePath);
      const { logLevel: level, logFile } = config;
      const write = logFile === undefined ? {} : { write: openLogFile(logFile) };
      const logger = createLogger({ level, allowedFields: logFields, ...write });
      const engine = await openEngine();
      const { driver, sentence } = await engine.chooseEngine(config.engine, {
        places: readEnginePlaces(config),
        loadSettings: config.threads === 0 ? {} : { threads: config.threads },
        onWarning: (protection) => logger.warn("Look at this", { protection }),
      });
      print(sentence);
      await serve(config, {
        driver,
        logger,
        print,
        signal: endSignal(),
        missingProtections: engine.missingProtections(),
      });
    },
  );
};
