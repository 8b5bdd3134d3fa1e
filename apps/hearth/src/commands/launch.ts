import {
  anyKey,
  keyPlaceholder,
  minAgentContextTokens,
  type Program,
  type ProgramSettings,
  programs,
  renderSettings,
} from "@hearth-and-keep/hearth-contract";
import { printToStderr, screen } from "@hearth-and-keep/terminal";
import { callFailure } from "../server-client/call-failure.ts";
import { openServerClient, type ServerFlags } from "../server-client/server-client.ts";
import type { DefineCommand } from "./command-entry.ts";
import { ensureServer } from "./ensure-server.ts";
import { type AgentModel, chooseModel } from "./launch/choose-model.ts";
import { findExecutable, runProgram } from "./launch/run-program.ts";
import { removeSettings, resolvePath, writeSettings } from "./launch/settings-files.ts";
import { addServerFlags } from "./server-flags.ts";

type LaunchFlags = ServerFlags & {
  readonly model?: string;
  readonly smallModel?: string;
  readonly print?: boolean;
  readonly remove?: boolean;
  readonly force?: boolean;
};

export const define: DefineCommand = (command) => {
  addServerFlags(
    command
      .argument("<program>", programs.map(({ name }) => name).join(", "))
      .argument("[args...]", "arguments of the program, after --")
      .option("--model <model>", "model to use; by default the only one that can call tools")
      .option("--small-model <model>", "model for titles and summaries; by default the same")
      .option("--print", "only show the settings and the command")
      .option("--remove", "undo what earlier launches wrote to settings files")
      .option("--force", "use a model that cannot call tools")
      .addHelpText(
        "after",
        [
          "",
          "Examples:",
          "  hearth launch claude                          start Claude Code",
          "  hearth launch codex --model qwen3:8b          start Codex with this model",
          '  hearth launch claude -- -p "Explain main.ts"  pass arguments to the program',
          "  hearth launch zed --print                     show what would be written and run",
        ].join("\n"),
      ),
  ).action(launch);
};

async function launch(name: string, args: readonly string[], flags: LaunchFlags): Promise<void> {
  const program = findProgram(name);
  if (flags.remove === true) return remove(program);
  const { settings, model, apiKey } = await prepare(program, flags);
  if (flags.print === true) return print(program, settings, args);
  const executable = await findExecutable(program.executables);
  if (executable === undefined) {
    const message = `${program.title} is not installed: there is no "${program.executables[0]}" in PATH`;
    const next = program.install.startsWith("see ") ? program.install : `run "${program.install}"`;
    throw callFailure({ kind: "usage-error", message, next });
  }
  warnAboutContext(model);
  for (const path of await writeSettings(program.name, settings.files)) {
    printToStderr(`Wrote ${path}; undo it with "hearth launch ${program.name} --remove"`);
  }
  await runProgram(executable, {
    args: [...settings.args.map((argument) => resolveArgument(argument, settings)), ...args],
    environment: withKey(settings.environment, apiKey ?? anyKey),
  });
}

function findProgram(name: string): Program {
  const program = programs.find((each) => each.name === name.toLowerCase());
  if (program !== undefined) return program;
  const names = programs.map((each) => each.name).join(", ");
  const message = `Unknown program "${name}": use one of ${names}`;
  throw callFailure({ kind: "usage-error", message, next: 'run "hearth launch --help"' });
}

type Prepared = {
  readonly settings: ProgramSettings;
  readonly model: AgentModel;
  readonly apiKey: string | undefined;
};

async function prepare(program: Program, flags: LaunchFlags): Promise<Prepared> {
  await using server = await openServerClient(flags);
  // Showing settings starts nothing.
  if (flags.print !== true) await ensureServer(server);
  const model = await chooseModel(server, { ...flags, title: program.title });
  const { apiKey, address } = server;
  const settings = program.configure({
    baseUrl: address.url,
    model: model.name,
    smallModel: flags.smallModel ?? model.name,
    contextTokens: model.contextTokens,
    hasVision: model.capabilities.includes("vision"),
    key: apiKey === undefined ? anyKey : keyPlaceholder,
  });
  return { settings, model, apiKey };
}

function warnAboutContext({ name, contextTokens }: AgentModel): void {
  if (contextTokens === undefined || contextTokens >= minAgentContextTokens) return;
  printToStderr(
    `${name} has a context of ${contextTokens} tokens here, and agents need ${minAgentContextTokens}: use another model, or raise --memory-budget or --context-length of the server if one of them is the limit`,
  );
}

function print(program: Program, settings: ProgramSettings, args: readonly string[]): void {
  for (const { path, text } of renderSettings(program, settings, { args })) {
    if (path !== undefined) screen.writeLine(`# ${path}`);
    screen.writeLine(text);
  }
}

async function remove({ name, title }: Program): Promise<void> {
  const outcomes = await removeSettings(name);
  if (outcomes.length === 0) screen.writeLine(`Nothing to remove: no settings were written for ${title}`);
  for (const { path, outcome } of outcomes) screen.writeLine(`${outcomeTexts[outcome]} ${path}`);
}

const outcomeTexts = {
  restored: "Restored",
  removed: "Removed",
  cleaned: "Removed Hearth's entries from",
  kept: "Kept, because it has changed since:",
} as const;

function resolveArgument(argument: string, { files }: ProgramSettings): string {
  const file = files.find(({ folder, name }) => argument === `${folder}/${name}`);
  return file === undefined ? argument : resolvePath(file);
}

function withKey(environment: ProgramSettings["environment"], key: string): Record<string, string> {
  const entries = Object.entries(environment);
  return Object.fromEntries(entries.map(([name, value]) => [name, value.replaceAll(keyPlaceholder, key)]));
}
