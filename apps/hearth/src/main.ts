/**
 * @module
 * Hearth, the model server. A request's way: `routes.ts` says which handler, `dialects/` translates,
 * `server.ts` answers what goes wrong. `main.ts` reads words, builds the parts and runs one command of
 * `commands/`; nothing imports it.
 */
import { addSettings, Command, endSignal, runProgram } from "@hearth-and-keep/command-line";
import { createLlamaDriver, missingProtections } from "@hearth-and-keep/llama-engine";
import { createLogger } from "@hearth-and-keep/logging";
import manifest from "../package.json" with { type: "json" };
import { create } from "./commands/create.ts";
import { prune } from "./commands/prune.ts";
import { serve } from "./commands/serve.ts";
import { readServeConfig, readStoreConfig, serveSettings, storeSettings } from "./config.ts";
import { explainFailure } from "./failures.ts";
import { logFields } from "./server.ts";

const program = new Command("hearth")
  .description("Serve language models from this machine in three protocols")
  .version(manifest.version);

addSettings(program.command("serve").description("Start the server"), serveSettings).action(
  async ({ config: filePath, ...flags }: Record<string, string | undefined>) => {
    const config = readServeConfig(flags, filePath);
    const logger = createLogger({ level: config.logLevel, allowedFields: logFields });
    await serve(config, {
      driver: createLlamaDriver({ onWarning: (protection) => logger.warn("Look at this", { protection }) }),
      logger,
      print: (line) => process.stdout.write(`${line}\n`),
      signal: endSignal(),
      missingProtections: missingProtections(),
    });
  },
);

addSettings(
  program
    .command("create")
    .description("Put a model into the store, of a file or by a Modelfile")
    .argument("<name>", "what to call it, as in model or model:tag")
    .option("--from <file>", "a GGUF file, or the first part of a split one")
    .option("-f, --file <Modelfile>", "a Modelfile, which says what the model is made of"),
  storeSettings,
).action(async (name: string, flags: { from?: string; file?: string; models?: string }) => {
  const { models } = readStoreConfig({ models: flags.models });
  const { from, file: modelfile } = flags;
  const plan = { name, models, ...(from && { from }), ...(modelfile && { modelfile }) };
  await create(plan, (line) => process.stdout.write(`${line}\n`));
});

addSettings(
  program
    .command("prune")
    .description("Remove from the store what no model needs")
    .option("--dry-run", "only tell what would go"),
  storeSettings,
).action(async (flags: { dryRun?: boolean; models?: string }) => {
  const { models } = readStoreConfig({ models: flags.models });
  const dryRun = flags.dryRun === true;
  await prune({ models, dryRun }, (line) => process.stdout.write(`${line}\n`));
});

await runProgram(program, explainFailure);
