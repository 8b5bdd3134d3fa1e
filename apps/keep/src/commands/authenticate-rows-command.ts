import { addSettings } from "@hearth-and-keep/command-line";
import { readStorageConfig, storageSettings } from "../config.ts";
import { openKeys } from "../keys/custody/open-keys.ts";
import { authenticateRows } from "./authenticate-rows.ts";
import type { DefineCommand } from "./command-entry.ts";
import { openStored, print, type SettingFlags } from "./open-stored.ts";

export const define: DefineCommand = (command) => {
  addSettings(command, storageSettings).action(async ({ config: filePath, ...flags }: SettingFlags) => {
    const config = readStorageConfig(flags, filePath);
    const wrapper = await openKeys(config);
    await using database = await openStored(config);
    await authenticateRows({ database, wrapper, print });
  });
};
