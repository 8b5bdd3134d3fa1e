/**
 * @module
 * Keep, the secrets vault. A request is routed by `routes.ts` to a handler in `http.ts`, which calls one use case; the
 * SQL is in `queries.ts` files. `main.ts` parses the arguments, loads the requested command from `commands/`, and turns
 * failures into messages and an exit code. Nothing imports it.
 */
import { Command } from "commander";
import manifest from "../package.json" with { type: "json" };
import { reportError } from "./client/report-error.ts";
import { commandTable } from "./commands/command-table.ts";

/** Reported at the end. */
const usageErrors: string[] = [];
const requested = requestedCommand();
const isKnown = commandTable.some(({ name }) => requested === name);
const program = new Command("keep")
  .description("Store secrets for people and programs")
  .version(manifest.version, "-v, --version", "show the version")
  .helpOption("-h, --help", "show this help")
  .helpCommand("help [command]", "Show the help of a command")
  // What follows the program of `keep run` are its own options.
  .enablePositionalOptions()
  .exitOverride()
  .configureOutput({
    outputError: (text) => void usageErrors.push(text),
  })
  .showSuggestionAfterError()
  .addHelpText(
    "after",
    "\nGet started:     keep login https://keep.example\nCommand details: keep COMMAND --help",
  );

/** The first argument that is not an option; for `keep help COMMAND`, that command. */
function requestedCommand(): string | undefined {
  const [first, second] = process.argv.slice(2).filter((argument) => !argument.startsWith("-"));
  return first === "help" ? second : first;
}

for (const { name, summary, load } of commandTable) {
  const command = program.command(name).description(summary);
  if (requested === name) (await load()).define(command, commandTable);
}

// The reader may have closed the pipe, e.g. `head`, or the terminal window may be gone.
process.stdout.on("error", (error: NodeJS.ErrnoException) => {
  if (error.code !== "EPIPE" && error.code !== "EIO") throw error;
  process.exit(0);
});

try {
  await program.parseAsync();
} catch (error) {
  if (usageErrors.length > 0) {
    const { reportUsageError } = await import("./client/print-errors.ts");
    const write = process.stderr.write.bind(process.stderr);
    const options = { write, program: "keep", command: isKnown ? requested : undefined };
    for (const text of usageErrors) reportUsageError(text, options);
  }
  process.exitCode = await reportError(error);
}
