import { Command } from "commander";
import { callFailure } from "../server-client/call-failure.ts";
import { openServer } from "../server-client/call-server.ts";
import { listedModels } from "../server-client/response-types.ts";
import { screen } from "../terminal/screen.ts";
import type { CommandParts, Define } from "./command-row.ts";
import { type CompletedCommand, writeCompletion } from "./completion-scripts.ts";

const shells = ["bash", "zsh", "fish"] as const;
/** A shell waits for this; without an answer it completes no names. */
const longestSeconds = 2;

export const define: Define = (command, parts) => {
  command
    .argument("[shell]", shells.join(", "))
    .option("--models", "print the names of the models instead, one on a line; the scripts ask for them so")
    .addHelpText(
      "after",
      [
        "",
        "Type one of these once; a new shell then completes:",
        "  hearth completion bash > ~/.local/share/bash-completion/completions/hearth",
        "  hearth completion zsh > ~/.zfunc/_hearth     with fpath+=~/.zfunc before compinit in ~/.zshrc",
        "  hearth completion fish > ~/.config/fish/completions/hearth.fish",
      ].join("\n"),
    )
    .action(async (asked: string | undefined, flags: { readonly models?: boolean }) => {
      if (flags.models === true) return printModels();
      const shell = shells.find((each) => each === asked);
      if (shell === undefined) {
        const sentence = `Cannot write a script for ${asked === undefined ? "no shell" : `"${asked}"`}: there are ${shells.join(", ")}`;
        throw callFailure({ kind: "words-wrong", sentence, next: "hearth completion bash" });
      }
      screen.write(writeCompletion(shell, await describeCommands(parts)));
    });
};

async function describeCommands(parts: CommandParts): Promise<readonly CompletedCommand[]> {
  return Promise.all(
    parts.commands.map(async ({ name, alias, summary, takesModel = false, load }) => {
      const command = new Command(name);
      (await load()).define(command, parts);
      return {
        names: alias === undefined ? [name] : [name, alias],
        summary,
        takesModel,
        words: [...command.commands.map((each) => each.name()), ...(name === "completion" ? shells : [])],
        flags: command.options.flatMap(({ long, description }) =>
          long ? [{ long, meaning: description }] : [],
        ),
      };
    }),
  );
}

async function printModels(): Promise<void> {
  try {
    await using server = await openServer({});
    for (const { name } of await listedModels(server, longestSeconds)) screen.line(name);
  } catch {
    // Somebody presses a key in the middle of a line: no names are better than a sentence there.
  }
}
