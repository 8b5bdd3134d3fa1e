/**
 * @module
 * Hearth, the model server. A request's way: `routes.ts` says which handler, `dialects/` translates,
 * `server.ts` answers what goes wrong. `main.ts` reads words, loads the one command of `commands/` that was typed,
 * builds the parts it asks for and turns its failure into sentences and an exit code; nothing imports it.
 */
import { Command } from "commander";
import manifest from "../package.json" with { type: "json" };
import type { CommandParts } from "./commands/command-row.ts";
import { commandTable } from "./commands/command-table.ts";
import { tellProblem, tellWrongWords } from "./terminal/report-error.ts";

const parts: CommandParts = {
  commands: commandTable,
  async openEngine() {
    const { missingProtections } = await import("@hearth-and-keep/engine-host");
    const { chooseEngine } = await import("./scheduling/engine-choice.ts");
    return { chooseEngine, missingProtections };
  },
};

const typed = typedCommand();
const program = new Command("hearth")
  .description("Run language models on this machine, and serve them in three protocols")
  .version(manifest.version, "-v, --version", "show which version this is")
  .helpOption("-h, --help", "show this help")
  .helpCommand("help [command]", "show how a command works")
  // -v is one thing before a command and another one after it.
  .enablePositionalOptions()
  .exitOverride()
  .configureOutput({ outputError: (text, write) => tellWrongWords(text, { write, typed }) })
  .showSuggestionAfterError()
  .addHelpText("after", "\nStart with: hearth run MODEL\nHow one of them works: hearth COMMAND --help");

/** The word that says what to do; after `help`, the one that is asked about. */
function typedCommand(): string | undefined {
  const words = process.argv.slice(2).filter((word) => !word.startsWith("-"));
  return words[0] === "help" ? words[1] : words[0];
}

for (const { name, alias, summary, load } of commandTable) {
  const command = program.command(name).description(summary);
  if (alias !== undefined) command.alias(alias);
  if (typed !== undefined && [name, alias].includes(typed)) (await load()).define(command, parts);
}

// Whoever reads our output may have had enough of it, as `head` does, or has closed the window.
process.stdout.on("error", (problem: NodeJS.ErrnoException) => {
  if (problem.code !== "EPIPE" && problem.code !== "EIO") throw problem;
  process.exit(0);
});

try {
  await program.parseAsync();
} catch (problem) {
  process.exitCode = await tellProblem(problem);
}
