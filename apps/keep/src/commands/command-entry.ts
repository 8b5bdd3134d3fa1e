import type { Command } from "commander";

/** Adds the arguments, options, subcommands and action of a command. */
export type DefineCommand = (command: Command, commands: readonly CommandEntry[]) => void;

export type CommandEntry = {
  readonly name: string;
  readonly summary: string;
  /** Only the requested command is loaded: a client starts fast, and the server loads nothing of the client. */
  readonly load: () => Promise<{ readonly define: DefineCommand }>;
};
