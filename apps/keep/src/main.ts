/**
 * @module
 * Keep, the secrets vault. A request's way: `routes.ts` says which handler, the handler calls one use case,
 * `queries.ts` files hold the SQL. `main.ts` reads words, builds the parts and runs one command of `commands/`;
 * nothing imports it.
 */
import { addSettings, Command, endSignal, runProgram } from "@hearth-and-keep/command-line";
import { createLogger } from "@hearth-and-keep/logging";
import manifest from "../package.json" with { type: "json" };
import { serve } from "./commands/serve.ts";
import { readServeConfig, serveSettings } from "./config.ts";
import { openDatabase } from "./database/open-database.ts";
import { answersQuestions } from "./database/queries.ts";
import { explainFailure } from "./failures.ts";
import { makeKeyText } from "./keys/key-encryption-key.ts";
import { logFields } from "./server.ts";

const program = new Command("keep")
  .description("Keep the secrets of people and programs")
  .version(manifest.version);
const print = (line: string): void => void process.stdout.write(`${line}\n`);

addSettings(program.command("serve").description("Start the server"), serveSettings).action(
  async ({ config: filePath, ...flags }: Record<string, string | undefined>) => {
    const config = readServeConfig(flags, filePath);
    const logger = createLogger({ level: config.logLevel, allowedFields: logFields });
    const signal = endSignal();
    await serve(config, { logger, openDatabase, answersQuestions, print, signal });
  },
);

program
  .command("make-key")
  .description("Print a new encryption key; store it where the database is not")
  .action(() => print(makeKeyText()));

await runProgram(program, explainFailure);
