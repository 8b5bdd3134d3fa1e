import { addSettings, shutdownSignal } from "@hearth-and-keep/command-line";
import { createLogger } from "@hearth-and-keep/logging";
import { readServeConfig, serveSettings } from "../config.ts";
import { openDatabase } from "../database/open-database.ts";
import { checkDatabaseReadiness } from "../database/queries.ts";
import { logFields } from "../server.ts";
import type { DefineCommand } from "./command-entry.ts";
import { print, type SettingFlags } from "./open-stored.ts";
import { serve } from "./serve.ts";

export const define: DefineCommand = (command) => {
  addSettings(command, serveSettings).action(async ({ config: filePath, ...flags }: SettingFlags) => {
    const config = readServeConfig(flags, filePath);
    const logger = createLogger({ level: config.logLevel, allowedFields: logFields });
    const signal = shutdownSignal();
    await serve(config, { logger, openDatabase, checkDatabaseReadiness, print, signal });
  });
};
