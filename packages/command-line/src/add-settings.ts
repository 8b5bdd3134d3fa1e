import { describeFlags, type Settings } from "@hearth-and-keep/configuration";
import type { Command } from "commander";

/** Gives a command one flag per declared setting, and `--config` for the file that holds the rest. */
export function addSettings(command: Command, declared: Settings): Command {
  for (const { flags, meaning } of describeFlags(declared)) command.option(flags, meaning);
  return command.option("--config <file>", "TOML file with settings; flags and environment win over it");
}
