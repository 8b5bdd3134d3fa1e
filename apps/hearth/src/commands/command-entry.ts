import type { Command } from "commander";
import type { EnginePreference } from "../engines/engine-programs.ts";
import type { EngineChoice, EngineChoiceOptions } from "../scheduling/engine-choice.ts";

/** Dependencies that `main.ts` provides; engines are loaded on demand, because loading them is slow. */
export type CommandDependencies = {
  /** All commands, for shell completion. */
  readonly commands: readonly CommandEntry[];
  readonly openEngine: () => Promise<EngineServices>;
};

type EngineServices = {
  readonly chooseEngine: (
    requested: EnginePreference | undefined,
    options: EngineChoiceOptions,
  ) => Promise<EngineChoice>;
  readonly missingProtections: () => readonly string[];
};

/** Adds the arguments, options and action of a command. */
export type DefineCommand = (command: Command, dependencies: CommandDependencies) => void;

export type CommandEntry = {
  readonly name: string;
  readonly alias?: string;
  readonly summary: string;
  /** Whether the first argument is a model name, which shell completion offers. */
  readonly takesModel?: boolean;
  /** Only the requested command is loaded, to keep start-up fast. */
  readonly load: () => Promise<{ readonly define: DefineCommand }>;
};
