import { describeFlags, SettingsError } from "@hearth-and-keep/configuration";
import type { Command } from "commander";
import { engineLocationSettings, readEngineLocations } from "../config.ts";
import {
  type EngineLocations,
  type EnginePreference,
  type EngineProgram,
  engineNames,
  enginePreferences,
  formatProgram,
} from "../engines/engine-programs.ts";
import type { DefineCommand } from "./command-entry.ts";

type Print = (line: string) => void;
type Flags = { readonly enginesFolder?: string; readonly llamaServer?: string; readonly json?: boolean };

/** Each subcommand imports its dependencies when it runs, to keep start-up fast. */
export const define: DefineCommand = (engine) => {
  addLocationFlags(
    engine
      .command("list")
      .description("List engines, their status, and which one is used")
      .option("--json", "print JSON"),
  ).action((flags: Flags) =>
    listEngines(readEngineLocations(flags), { isJson: flags.json === true, print: printLine }),
  );
  addLocationFlags(
    engine
      .command("install")
      .description("Install llama.cpp's server (xllamacpp) into its own Python environment"),
  ).action(async (flags: Flags) => {
    const { installXllamacpp } = await import("../engines/install-xllamacpp.ts");
    await installEngine(printLine, () => installXllamacpp(readEngineLocations(flags), { onStep: printLine }));
  });
  addLocationFlags(
    engine.command("build").description("Compile the built-in engine for this machine's CPU; takes minutes"),
  ).action(async (flags: Flags) => {
    const { buildBinding } = await import("../engines/build-binding.ts");
    await installEngine(printLine, () => buildBinding(readEngineLocations(flags), { onStep: printLine }));
  });
  addLocationFlags(
    engine
      .command("use")
      .description('Select the engine that "hearth serve" uses')
      .argument("<name>", enginePreferences.join(", ")),
  ).action((name: string, flags: Flags) =>
    useEngine(name, { locations: readEngineLocations(flags), print: printLine }),
  );
};

function printLine(line: string): void {
  process.stdout.write(`${line}\n`);
}

function addLocationFlags(command: Command): Command {
  for (const { flags, description } of describeFlags(engineLocationSettings))
    command.option(flags, description);
  return command;
}

type ListOptions = { readonly isJson: boolean; readonly print: Print };

/** Tests engines that have not been tested yet, so that the list matches what `serve` will find. */
export async function listEngines(locations: EngineLocations, { isJson, print }: ListOptions): Promise<void> {
  const { chooseEngine, testEngines } = await import("../scheduling/engine-choice.ts");
  const { findEngines } = await import("../engines/find-engines.ts");
  const choiceOptions = { locations, loadSettings: {}, onWarning: () => undefined };
  const tested = await testEngines(findEngines(locations), choiceOptions);
  const chosen = await chooseEngine(undefined, choiceOptions);
  const rows = tested.map(({ program, result }) => ({
    engine: program.kind,
    name: formatProgram(program),
    ...result,
    isUsed: isSameProgram(program, chosen.program),
  }));
  const missing = engineNames.filter((name) => !rows.some(({ engine }) => engine === name));
  if (isJson) {
    print(JSON.stringify({ engines: rows, missing, choice: chosen.summary }, null, 2));
    return;
  }
  const { screen } = await import("../terminal/screen.ts");
  const { renderTable } = await import("../terminal/table.ts");
  const installedRows = rows.map((row) => [
    row.name,
    row.works ? "works" : `fails: ${row.reason}`,
    row.works ? `${Math.round(row.tokensPerSecond)} tokens/s` : "",
    row.isUsed ? "used" : "",
  ]);
  const missingRows = missing.map((name) => [name, "not installed", "", ""]);
  const headers = ["ENGINE", "STATUS", "SELF-TEST", ""];
  const options = { screen, dropOrder: ["", "SELF-TEST"] };
  for (const line of renderTable(headers, [...installedRows, ...missingRows], options)) print(line);
  print("");
  print(chosen.summary);
  if (missing.includes("xllamacpp")) print(`Install llama.cpp's server with "hearth engine install"`);
}

type UseOptions = { readonly locations: EngineLocations; readonly print: Print };

/** Stores the choice for later starts. An engine that is missing or fails its self-test is rejected here. */
export async function useEngine(name: string, { locations, print }: UseOptions): Promise<void> {
  const preference = enginePreferences.find((each) => each === name);
  if (preference === undefined) {
    throw new SettingsError([`Unknown engine "${name}"; use one of ${enginePreferences.join(", ")}`]);
  }
  const { chooseEngine } = await import("../scheduling/engine-choice.ts");
  const { writeChosenEngine } = await import("../engines/chosen-engine.ts");
  const chosen = await chooseEngine(preference, { locations, loadSettings: {}, onWarning: print });
  await writeChosenEngine(locations.folder, preference satisfies EnginePreference);
  print(chosen.summary);
  print('"hearth serve" uses it from its next start; restart a running server');
}

async function installEngine(print: Print, install: () => Promise<EngineProgram>): Promise<void> {
  const startedAt = performance.now();
  const program = await install();
  print(`Done in ${Math.round((performance.now() - startedAt) / 1000)} s: ${formatProgram(program)}`);
  print(
    'Run "hearth engine list" to see which engine is used, and restart a running server to use a new one',
  );
}

function isSameProgram(one: EngineProgram, other: EngineProgram): boolean {
  return JSON.stringify(one) === JSON.stringify(other);
}
