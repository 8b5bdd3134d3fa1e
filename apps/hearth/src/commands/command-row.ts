import type { Command } from "commander";
import type { EngineWish } from "../engines/engine-programs.ts";
import type { ChoiceParts, EngineChoice } from "../scheduling/engine-choice.ts";

/** What `main.ts` builds for commands that need it, when they do: it is large. */
export type CommandParts = {
  /** Every command, for the one that tells of the others. */
  readonly commands: readonly CommandRow[];
  readonly openEngine: () => Promise<EngineParts>;
};

type EngineParts = {
  readonly chooseEngine: (asked: EngineWish | undefined, parts: ChoiceParts) => Promise<EngineChoice>;
  readonly missingProtections: () => readonly string[];
};

/** Gives a command its arguments, its flags and what it does. */
export type Define = (command: Command, parts: CommandParts) => void;

export type CommandRow = {
  readonly name: string;
  readonly alias?: string;
  readonly summary: string;
  /** Whether the first argument is the name of a model, which shells complete. */
  readonly takesModel?: boolean;
  /** Only the command that was typed is loaded, so that none waits for the others. */
  readonly load: () => Promise<{ readonly define: Define }>;
};
