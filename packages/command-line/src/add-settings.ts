import { describeFlags, type Settings } from "@hearth-and-keep/configuration";
import type { Command } from "commander";

/** Adds one flag per declared setting, and `--config` for a settings file. */
export function addSettings(command: Command, declared: Settings): Command {
  for (const { flags, description } of describeFlags(declared)) command.option(flags, description);
  return command.option(
    "--config <file>",
    "TOML file with settings; flags and environment variables override it",
  );
}
