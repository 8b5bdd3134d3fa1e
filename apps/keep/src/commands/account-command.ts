import { addSettings } from "@hearth-and-keep/command-line";
import { readStorageConfig, storageSettings } from "../config.ts";
import { openKeys } from "../keys/custody/open-keys.ts";
import type { DefineCommand } from "./command-entry.ts";
import {
  accountChangeDescriptions,
  accountChanges,
  printAccount,
  printAccounts,
  runAccountChange,
} from "./manage-accounts.ts";
import { openStored, print, type SettingFlags } from "./open-stored.ts";

export const define: DefineCommand = (accountCommand) => {
  addSettings(
    accountCommand.command("list").description("List the accounts with their states and identities"),
    storageSettings,
  ).action(async ({ config: filePath, ...flags }: SettingFlags) => {
    await using database = await openStored(readStorageConfig(flags, filePath));
    process.exitCode = await printAccounts({ database, print });
  });
  addSettings(
    accountCommand
      .command("show")
      .description("Show an account and how its people sign in")
      .argument("<account>", "id of the account"),
    storageSettings,
  ).action(async (accountId: string, { config: filePath, ...flags }: SettingFlags) => {
    await using database = await openStored(readStorageConfig(flags, filePath));
    process.exitCode = await printAccount(accountId, { database, print });
  });
  for (const change of accountChanges) {
    const command = accountCommand
      .command(change)
      .description(accountChangeDescriptions[change])
      .argument("<account>", "id of the account");
    if (change === "delete") command.requiredOption("--confirm <name>", "display name of the account");
    addSettings(command, storageSettings).action(
      async (accountId: string, { config: filePath, confirm: confirmation, ...flags }: SettingFlags) => {
        const config = readStorageConfig(flags, filePath);
        const wrapper = await openKeys(config);
        await using database = await openStored(config);
        const request = { accountId, change, confirmation };
        process.exitCode = await runAccountChange(request, { database, wrapper, print });
      },
    );
  }
};
