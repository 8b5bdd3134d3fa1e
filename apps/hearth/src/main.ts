/**
 * @module
 * Hearth, the model server. A request is routed by `routes.ts`, translated by `dialects/`, and errors become responses
 * in `server.ts`. `main.ts` parses the arguments, loads the requested command from `commands/`, passes it its
 * dependencies, and turns failures into messages and an exit code. Nothing imports it.
 */
import { reportUsageError } from "@hearth-and-keep/terminal";
import { Command } from "commander";
import manifest from "../package.json" with { type: "json" };
import type { CommandDependencies } from "./commands/command-entry.ts";
import { commandTable } from "./commands/command-table.ts";
import { reportError } from "./terminal/report-error.ts";

const dependencies: CommandDependencies = {
  commands: commandTable,
  async openEngine() {
    const { missingProtections } = await import("@hearth-and-keep/engine-host");
    const { chooseEngine } = await import("./scheduling/engine-choice.ts");
    return { chooseEngine, missingProtections };
  },
};

const requested = requestedCommand();
const isKnown = commandTable.some(({ name, alias }) => requested === name || requested === alias);
const program = new Command("hearth")
  .description("Run language models locally and serve them over the Ollama, OpenAI and Anthropic APIs")
  .version(manifest.version, "-v, --version", "show the version")
  .helpOption("-h, --help", "show this help")
  .helpCommand("help [command]", "Show the help of a command")
  // `hearth -v` prints the version; `hearth show -v` is verbose.
  .enablePositionalOptions()
  .exitOverride()
  .configureOutput({
    outputError: (text, write) =>
      reportUsageError(text, { write, program: "hearth", command: isKnown ? requested : undefined }),
  })
  .showSuggestionAfterError()
  .addHelpText("after", "\nGet started:     hearth run MODEL\nCommand details: hearth COMMAND --help");

/** The first argument that is not an option; for `hearth help COMMAND`, that command. */
function requestedCommand(): string | undefined {
  const [first, second] = process.argv.slice(2).filter((argument) => !argument.startsWith("-"));
  return first === "help" ? second : first;
}

for (const { name, alias, summary, load } of commandTable) {
  const command = program.command(name).description(summary);
  if (alias !== undefined) command.alias(alias);
  if (requested !== undefined && [name, alias].includes(requested)) {
    (await load()).define(command, dependencies);
  }
}

// The reader may have closed the pipe, e.g. `head`, or the terminal window may be gone.
process.stdout.on("error", (error: NodeJS.ErrnoException) => {
  if (error.code !== "EPIPE" && error.code !== "EIO") throw error;
  process.exit(0);
});

try {
  await program.parseAsync();
} catch (error) {
  process.exitCode = await reportError(error);
}
