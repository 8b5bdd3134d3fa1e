import { screen, shells, writeCompletion } from "@hearth-and-keep/terminal";
import { Command } from "commander";
import { clientFailure } from "../client/client-failure.ts";
import type { CommandEntry, DefineCommand } from "./command-entry.ts";

export const define: DefineCommand = (command, commands) => {
  command
    .argument("[shell]", shells.join(", "))
    .addHelpText(
      "after",
      [
        "",
        "Install completion with one of these, then start a new shell:",
        "  keep completion bash > ~/.local/share/bash-completion/completions/keep",
        "  keep completion zsh > ~/.zfunc/_keep     with fpath+=~/.zfunc before compinit in ~/.zshrc",
        "  keep completion fish > ~/.config/fish/completions/keep.fish",
      ].join("\n"),
    )
    .action(async (name: string | undefined) => {
      const shell = shells.find((each) => each === name);
      if (shell === undefined) {
        const reason = name === undefined ? "No shell given" : `Unsupported shell "${name}"`;
        const message = `${reason}: use ${shells.join(", ")}`;
        throw clientFailure({ kind: "usage-error", message, next: 'run "keep completion --help"' });
      }
      const described = await Promise.all(commands.map(async (entry) => describe(entry, commands)));
      screen.write(writeCompletion(shell, "keep", described));
    });
};

async function describe({ name, summary, load }: CommandEntry, commands: readonly CommandEntry[]) {
  const command = new Command(name);
  (await load()).define(command, commands);
  return {
    names: [name],
    summary,
    listCommand: undefined,
    arguments: [...command.commands.map((each) => each.name()), ...(name === "completion" ? shells : [])],
    flags: command.options.flatMap(({ long, description }) => (long ? [{ long, description }] : [])),
  };
}
