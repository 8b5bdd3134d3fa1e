import { programs } from "@hearth-and-keep/hearth-contract";
import { type CommandCompletion, screen, shells, writeCompletion } from "@hearth-and-keep/terminal";
import { Command } from "commander";
import { callFailure } from "../server-client/call-failure.ts";
import { listModels } from "../server-client/response-types.ts";
import { openServerClient } from "../server-client/server-client.ts";
import type { CommandDependencies, DefineCommand } from "./command-entry.ts";

/** Values of the first argument that are not subcommands. */
const fixedArguments: Readonly<Record<string, readonly string[]>> = {
  completion: shells,
  launch: programs.map(({ name }) => name),
};
/** The shell blocks while completing; without a response in this time, no names are offered. */
const timeoutSeconds = 2;

export const define: DefineCommand = (command, dependencies) => {
  command
    .argument("[shell]", shells.join(", "))
    .option("--models", "print model names, one per line; used by the scripts")
    .addHelpText(
      "after",
      [
        "",
        "Install completion with one of these, then start a new shell:",
        "  hearth completion bash > ~/.local/share/bash-completion/completions/hearth",
        "  hearth completion zsh > ~/.zfunc/_hearth     with fpath+=~/.zfunc before compinit in ~/.zshrc",
        "  hearth completion fish > ~/.config/fish/completions/hearth.fish",
      ].join("\n"),
    )
    .action(async (name: string | undefined, flags: { readonly models?: boolean }) => {
      if (flags.models === true) return printModels();
      const shell = shells.find((each) => each === name);
      if (shell === undefined) {
        const reason = name === undefined ? "No shell given" : `Unsupported shell "${name}"`;
        const message = `${reason}: use ${shells.join(", ")}`;
        throw callFailure({ kind: "usage-error", message, next: 'run "hearth completion --help"' });
      }
      screen.write(writeCompletion(shell, "hearth", await describeCommands(dependencies)));
    });
};

async function describeCommands(dependencies: CommandDependencies): Promise<readonly CommandCompletion[]> {
  return Promise.all(
    dependencies.commands.map(async ({ name, alias, summary, takesModel = false, load }) => {
      const command = new Command(name);
      (await load()).define(command, dependencies);
      return {
        names: alias === undefined ? [name] : [name, alias],
        summary,
        listCommand: takesModel ? "hearth completion --models" : undefined,
        arguments: [...command.commands.map((each) => each.name()), ...(fixedArguments[name] ?? [])],
        flags: command.options.flatMap(({ long, description }) => (long ? [{ long, description }] : [])),
      };
    }),
  );
}

async function printModels(): Promise<void> {
  try {
    await using server = await openServerClient({});
    for (const { name } of await listModels(server, timeoutSeconds)) screen.writeLine(name);
  } catch {
    // An error message would appear in the middle of the user's command line, so no names are offered instead.
  }
}
