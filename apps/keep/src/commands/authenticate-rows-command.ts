import { addSettings } from "@hearth-and-keep/command-line";
import { readStorageConfig, storageSettings } from "../config.ts";
import { readKeys } from "../keys/key-encryption-key.ts";
import { authenticateRows } from "./authenticate-rows.ts";
import type { DefineCommand } from "./command-entry.ts";
import { openStored, print, type SettingFlags } from "./open-stored.ts";

export const define: DefineCommand = (command) => {
  addSettings(command, storageSettings).action(async ({ config: filePath, ...flags }: SettingFlags) => {
    const config = readStorageConfig(flags, filePath);
    await using database = await openStored(config);
    await authenticateRows({ database, wrapper: readKeys(config.encryptionKey), print });
  });
};
