import { readEnginePlaces, readStoreConfig } from "../config.ts";
import { openServer, type ServerFlags } from "../server-client/call-server.ts";
import { exitCodes } from "../terminal/exit-codes.ts";
import { screen } from "../terminal/screen.ts";
import { padTo, wrapTo } from "../terminal/text-width.ts";
import { makeSafeLine } from "../terminal/untrusted-text.ts";
import type { CommandParts, Define } from "./command-row.ts";
import { type Finding, lookAtMachine } from "./doctor/machine.ts";
import { lookAtServer } from "./doctor/server.ts";
import { lookAtStore } from "./doctor/store.ts";
import { addServerFlags } from "./server-flags.ts";

type DoctorFlags = ServerFlags & { readonly json?: boolean; readonly models?: string };

export const define: Define = (command, parts) => {
  addServerFlags(
    command
      .option("--json", "as JSON, for programs")
      .option("--models <folder>", "the store to look at (default: HEARTH_MODELS, or ~/.hearth/models)"),
  ).action(async (flags: DoctorFlags) => {
    const findings = await examine(flags, parts);
    if (flags.json === true) screen.line(JSON.stringify({ findings }, null, 2));
    else for (const line of findings.flatMap(draw)) screen.line(line);
    if (findings.some(({ state }) => state === "broken")) process.exitCode = exitCodes.unexpected;
  });
};

async function examine(flags: DoctorFlags, parts: CommandParts): Promise<readonly Finding[]> {
  const { models } = readStoreConfig({ models: flags.models });
  await using server = await openServer(flags);
  const engine = await parts.openEngine();
  return [
    ...lookAtMachine(),
    await lookAtEngine(engine),
    ...lookAtProtections(engine.missingProtections()),
    ...(await lookAtStore(models)),
    ...(await lookAtServer(server)),
  ];
}

type Engine = Awaited<ReturnType<CommandParts["openEngine"]>>;

async function lookAtEngine({ chooseEngine }: Engine): Promise<Finding> {
  const warnings: string[] = [];
  try {
    const { sentence } = await chooseEngine(undefined, {
      places: readEnginePlaces({}),
      loadSettings: {},
      onWarning: (warning) => warnings.push(warning),
    });
    const [advice] = warnings;
    const found = { topic: "Engine", text: sentence.replace(/^Engine: /u, "") };
    return advice === undefined ? { ...found, state: "fine" } : { ...found, state: "note", advice };
  } catch {
    const advice = "hearth engine list shows the engines of this machine and what ails them";
    return { topic: "Engine", state: "broken", text: "The chosen engine cannot be used", advice };
  }
}

function lookAtProtections(missing: readonly string[]): readonly Finding[] {
  if (missing.length === 0) {
    return [
      {
        topic: "Sandbox",
        state: "fine",
        text: "Models run locked in: without network, files of others or your rights",
      },
    ];
  }
  return missing.map((sentence) => {
    const [text = sentence, ...advice] = sentence.split(": ");
    return { topic: "Sandbox", state: "note", text, advice: advice.join(": ") };
  });
}

const topicColumns = 11;

function draw({ topic, state, text, advice }: Finding): readonly string[] {
  const mark = {
    fine: screen.style("green", "✓"),
    note: screen.style("yellow", "!"),
    broken: screen.style("red", "✗"),
  };
  const room = Math.max(20, Math.min(screen.columns() - 1, 100) - topicColumns - 2);
  const indent = " ".repeat(topicColumns + 2);
  const words = wrapTo(makeSafeLine(text), room);
  const next = advice === undefined || advice === "" ? [] : wrapTo(`→ ${makeSafeLine(advice)}`, room);
  const [first = "", ...rest] = words;
  return [
    `${mark[state]} ${padTo(topic, topicColumns)}${first}`,
    ...[...rest, ...next].map((line) => indent + line),
  ];
}
