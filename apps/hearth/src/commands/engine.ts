import { describeFlags, SettingsError } from "@hearth-and-keep/configuration";
import type { Command } from "commander";
import { enginePlaceSettings, readEnginePlaces } from "../config.ts";
import {
  type EnginePlaces,
  type EngineProgram,
  type EngineWish,
  engineNames,
  engineWishes,
  nameProgram,
} from "../engines/engine-programs.ts";
import type { Define } from "./command-row.ts";

type Print = (line: string) => void;
type Flags = { readonly enginesFolder?: string; readonly llamaServer?: string; readonly json?: boolean };

/** What a verb needs is loaded when it is typed, so that no other command pays for it. */
export const define: Define = (engine) => {
  addPlaces(
    engine
      .command("list")
      .description("Show the engines of this machine, whether they work, and which is used")
      .option("--json", "the same for programs"),
  ).action((flags: Flags) =>
    listEngines(readEnginePlaces(flags), { isJson: flags.json === true, print: printLine }),
  );
  addPlaces(
    engine
      .command("install")
      .description("Install llama.cpp's own server (xllamacpp) into a Python environment of its own"),
  ).action(async (flags: Flags) => {
    const { installXllamacpp } = await import("../engines/install-xllamacpp.ts");
    await getEngine(printLine, () => installXllamacpp(readEnginePlaces(flags), { tell: printLine }));
  });
  addPlaces(
    engine
      .command("build")
      .description("Compile the built-in engine for the processor of this machine; takes minutes"),
  ).action(async (flags: Flags) => {
    const { buildBinding } = await import("../engines/build-binding.ts");
    await getEngine(printLine, () => buildBinding(readEnginePlaces(flags), { tell: printLine }));
  });
  addPlaces(
    engine
      .command("use")
      .description("Choose the engine that hearth serve takes from now on")
      .argument("<name>", engineWishes.join(", ")),
  ).action((name: string, flags: Flags) =>
    useEngine(name, { places: readEnginePlaces(flags), print: printLine }),
  );
};

function printLine(line: string): void {
  process.stdout.write(`${line}\n`);
}

function addPlaces(command: Command): Command {
  for (const { flags, meaning } of describeFlags(enginePlaceSettings)) command.option(flags, meaning);
  return command;
}

type ListParts = { readonly isJson: boolean; readonly print: Print };

/** An engine that was never tested is tested now, so that the list says what `serve` would find. */
export async function listEngines(places: EnginePlaces, { isJson, print }: ListParts): Promise<void> {
  const { chooseEngine, testEngines } = await import("../scheduling/engine-choice.ts");
  const { findEngines } = await import("../engines/find-engines.ts");
  const parts = { places, loadSettings: {}, onWarning: () => undefined };
  const tested = await testEngines(findEngines(places), parts);
  const chosen = await chooseEngine(undefined, parts);
  const rows = tested.map(({ program, result }) => ({
    engine: program.kind,
    name: nameProgram(program),
    ...result,
    isUsed: isSame(program, chosen.program),
  }));
  const missing = engineNames.filter((name) => !rows.some(({ engine }) => engine === name));
  if (isJson) {
    print(JSON.stringify({ engines: rows, missing, choice: chosen.sentence }, null, 2));
    return;
  }
  const { screen } = await import("../terminal/screen.ts");
  const { drawTable } = await import("../terminal/table.ts");
  const drawn = rows.map((row) => [
    row.name,
    row.works ? "works" : `fails: ${row.reason}`,
    row.works ? `${Math.round(row.tokensPerSecond)} tokens/s` : "",
    row.isUsed ? "used" : "",
  ]);
  const absent = missing.map((name) => [name, "not installed", "", ""]);
  const fit = { screen, least: ["", "SELF-TEST"] };
  for (const line of drawTable(["ENGINE", "STATE", "SELF-TEST", ""], [...drawn, ...absent], fit)) print(line);
  print("");
  print(chosen.sentence);
  if (missing.includes("xllamacpp")) print("Type hearth engine install to get llama.cpp's own server");
}

type UseParts = { readonly places: EnginePlaces; readonly print: Print };

/** Chooses for every later start; one that is not there or does not work is refused now rather than then. */
export async function useEngine(name: string, { places, print }: UseParts): Promise<void> {
  const wish = engineWishes.find((each) => each === name);
  if (wish === undefined) {
    throw new SettingsError([`There is no engine "${name}"; it is one of ${engineWishes.join(", ")}`]);
  }
  const { chooseEngine } = await import("../scheduling/engine-choice.ts");
  const { writeChosenEngine } = await import("../engines/chosen-engine.ts");
  const chosen = await chooseEngine(wish, { places, loadSettings: {}, onWarning: print });
  await writeChosenEngine(places.folder, wish satisfies EngineWish);
  print(chosen.sentence);
  print("hearth serve takes it from its next start on");
}

async function getEngine(print: Print, get: () => Promise<EngineProgram>): Promise<void> {
  const startedAt = performance.now();
  const program = await get();
  print(`Done in ${Math.round((performance.now() - startedAt) / 1000)} s: ${nameProgram(program)}`);
  print("Type hearth engine list to see which engine hearth serve takes");
}

function isSame(one: EngineProgram, other: EngineProgram): boolean {
  return JSON.stringify(one) === JSON.stringify(other);
}
