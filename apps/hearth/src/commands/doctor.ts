import { padToWidth, sanitizeLine, screen, wrapToWidth } from "@hearth-and-keep/terminal";
import { readEngineLocations, readStoreConfig } from "../config.ts";
import { openServerClient, type ServerFlags } from "../server-client/server-client.ts";
import { exitCodes } from "../terminal/exit-codes.ts";
import type { CommandDependencies, DefineCommand } from "./command-entry.ts";
import { checkMachine, type Finding } from "./doctor/check-machine.ts";
import { checkServer } from "./doctor/check-server.ts";
import { checkStore } from "./doctor/check-store.ts";
import { addServerFlags } from "./server-flags.ts";

type DoctorFlags = ServerFlags & { readonly json?: boolean; readonly models?: string };

export const define: DefineCommand = (command, dependencies) => {
  addServerFlags(
    command
      .option("--json", "print JSON")
      .option("--models <folder>", "model store to check (default: HEARTH_MODELS, else ~/.hearth/models)"),
  ).action(async (flags: DoctorFlags) => {
    const findings = await runChecks(flags, dependencies);
    if (flags.json === true) screen.writeLine(JSON.stringify({ findings }, null, 2));
    else for (const line of findings.flatMap(renderFinding)) screen.writeLine(line);
    if (findings.some(({ state }) => state === "error")) process.exitCode = exitCodes.unexpectedError;
  });
};

async function runChecks(flags: DoctorFlags, dependencies: CommandDependencies): Promise<readonly Finding[]> {
  const { models } = readStoreConfig({ models: flags.models });
  await using server = await openServerClient(flags);
  const engine = await dependencies.openEngine();
  return [
    ...checkMachine(),
    await checkEngine(engine),
    ...checkSandbox(engine.missingProtections()),
    ...(await checkStore(models)),
    ...(await checkServer(server)),
  ];
}

type Engine = Awaited<ReturnType<CommandDependencies["openEngine"]>>;

async function checkEngine({ chooseEngine }: Engine): Promise<Finding> {
  const warnings: string[] = [];
  try {
    const { summary } = await chooseEngine(undefined, {
      locations: readEngineLocations({}),
      loadSettings: {},
      onWarning: (warning) => warnings.push(warning),
    });
    const [advice] = warnings;
    const found = { topic: "Engine", text: summary.replace(/^Engine: /u, "") };
    return advice === undefined ? { ...found, state: "ok" } : { ...found, state: "warning", advice };
  } catch {
    const advice = 'run "hearth engine list" to see the installed engines and their errors';
    return { topic: "Engine", state: "error", text: "The selected engine cannot be used", advice };
  }
}

function checkSandbox(missing: readonly string[]): readonly Finding[] {
  if (missing.length === 0) {
    return [
      {
        topic: "Sandbox",
        state: "ok",
        text: "Models run sandboxed (no network, no file access, no new processes, unprivileged)",
      },
    ];
  }
  return missing.map((message) => {
    const [text = message, ...advice] = message.split(": ");
    return { topic: "Sandbox", state: "warning", text, advice: advice.join(": ") };
  });
}

const topicColumns = 11;

function renderFinding({ topic, state, text, advice }: Finding): readonly string[] {
  const symbols = {
    ok: screen.style("green", "✓"),
    warning: screen.style("yellow", "!"),
    error: screen.style("red", "✗"),
  };
  const textColumns = Math.max(20, Math.min(screen.columns() - 1, 100) - topicColumns - 2);
  const indent = " ".repeat(topicColumns + 2);
  const [first = "", ...rest] = wrapToWidth(sanitizeLine(text), textColumns);
  const adviceLines =
    advice === undefined || advice === "" ? [] : wrapToWidth(`→ ${sanitizeLine(advice)}`, textColumns);
  return [
    `${symbols[state]} ${padToWidth(topic, topicColumns)}${first}`,
    ...[...rest, ...adviceLines].map((line) => indent + line),
  ];
}
