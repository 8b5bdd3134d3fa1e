import { describeFlags, SettingsError } from "@hearth-and-keep/configuration";
import { FailureError } from "@hearth-and-keep/failures";
import type { Command } from "commander";
import { engineLocationSettings, readEngineLocations } from "../config.ts";
import {
  type EngineLocations,
  type EngineName,
  type EnginePreference,
  type EngineProgram,
  type EngineSetupFailure,
  engineNameOf,
  engineNames,
  enginePreferences,
  formatProgram,
} from "../engines/engine-programs.ts";
import { type GpuBackend, gpuBackends, gpuPackagesFor } from "../engines/gpu-packages.ts";
import type { DefineCommand } from "./command-entry.ts";

const buildNames = ["binding", "llama-server"] as const;

type Print = (line: string) => void;
type Flags = {
  readonly enginesFolder?: string;
  readonly llamaServer?: string;
  readonly gpuDevices?: string;
  readonly json?: boolean;
};

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
      .description("Install llama.cpp's server (xllamacpp), or the built-in engine for GPUs")
      .argument("[name]", `xllamacpp, ${gpuBackends.join(", ")}`, "xllamacpp"),
  ).action(async (name: string, flags: Flags) => {
    const locations = readEngineLocations(flags);
    const backend = gpuBackends.find((each) => each === name);
    if (backend !== undefined) return installForGpu(backend, { locations, print: printLine });
    if (name !== "xllamacpp") {
      throw new SettingsError([`Cannot install "${name}"; use one of xllamacpp, ${gpuBackends.join(", ")}`]);
    }
    const { installXllamacpp } = await import("../engines/install-xllamacpp.ts");
    return installEngine(printLine, () => installXllamacpp(locations, { onStep: printLine }));
  });
  addLocationFlags(
    engine
      .command("build")
      .description("Compile the built-in engine and llama.cpp's server on this machine; takes minutes")
      .argument("[name]", `${buildNames.join(", ")}; both if absent`),
  ).action((name: string | undefined, flags: Flags) =>
    buildEngines(name, { locations: readEngineLocations(flags), print: printLine }),
  );
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
    engine: engineNameOf(program),
    name: formatProgram(program),
    ...result,
    isUsed: isSameProgram(program, chosen.program),
  }));
  const missing = engineNames.filter(
    (name) => isInstallable(name) && !rows.some(({ engine }) => engine === name),
  );
  if (isJson) {
    print(JSON.stringify({ engines: rows, missing, choice: chosen.summary }, null, 2));
    return;
  }
  const { renderTable, screen } = await import("@hearth-and-keep/terminal");
  const installedRows = rows.map((row) => [
    row.name,
    row.works ? `works${row.gpuDevice === undefined ? "" : ` on ${row.gpuDevice}`}` : `fails: ${row.reason}`,
    row.works ? `${Math.round(row.tokensPerSecond)} tokens/s` : "",
    row.isUsed ? "used" : "",
  ]);
  const missingRows = missing.map((name) => [name, "not installed", "", ""]);
  const headers = ["ENGINE", "STATUS", "SELF-TEST", ""];
  const options = { screen, dropOrder: ["", "SELF-TEST"] };
  for (const line of renderTable(headers, [...installedRows, ...missingRows], options)) print(line);
  print("");
  print(chosen.summary);
  if (["xllamacpp", "llama-server"].every((name) => missing.some((each) => each === name)))
    print(`Install llama.cpp's server with "hearth engine install" or "hearth engine build"`);
}

function isInstallable(name: EngineName): boolean {
  const backend = gpuBackends.find((each) => each === name);
  return backend === undefined || gpuPackagesFor(backend).length > 0;
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

async function buildEngines(name: string | undefined, { locations, print }: UseOptions): Promise<void> {
  const names = name === undefined ? buildNames : buildNames.filter((each) => each === name);
  if (names.length === 0) {
    throw new SettingsError([`Cannot build "${name}"; use one of ${buildNames.join(", ")}`]);
  }
  for (const each of names) {
    const build = await builders[each]();
    await installEngine(print, async () =>
      testInstalled(await build(locations, { onStep: print }), { locations, print }),
    );
  }
}

const builders = {
  binding: async () => (await import("../engines/build-binding.ts")).buildBinding,
  "llama-server": async () => (await import("../engines/build-llama-server.ts")).buildLlamaServer,
} as const;

async function installForGpu(backend: GpuBackend, { locations, print }: UseOptions): Promise<void> {
  const { installGpuEngine } = await import("../engines/install-gpu.ts");
  await installEngine(print, async () =>
    testInstalled(await installGpuEngine(locations, { backend, onStep: print }), { locations, print }),
  );
}

/** Tests the engine at once: many machines lack a driver, and compilers make mistakes. */
async function testInstalled(
  program: EngineProgram,
  { locations, print }: UseOptions,
): Promise<EngineProgram> {
  print("Testing it");
  const { testEngines } = await import("../scheduling/engine-choice.ts");
  const options = { locations, loadSettings: {}, onWarning: () => undefined };
  const [tested] = await testEngines([program], options);
  if (tested?.result.works === false) {
    const { reason } = tested.result;
    const engine = engineNameOf(program);
    throw new FailureError<EngineSetupFailure>({ kind: "self-test-failed", engine, reason });
  }
  const device = tested?.result.works === true ? tested.result.gpuDevice : undefined;
  print(device === undefined ? "It works" : `It works on ${device}`);
  return program;
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
