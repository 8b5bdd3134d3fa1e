import { writeFile } from "node:fs/promises";
import { callFailure } from "../server-client/call-failure.ts";
import type { ServerCaller, ServerFlags } from "../server-client/call-server.ts";
import { listedModels } from "../server-client/response-types.ts";
import { drawCurve, drawCurveAsSvg } from "../terminal/curve.ts";
import { tellSeconds } from "../terminal/measures.ts";
import { errorScreen, screen } from "../terminal/screen.ts";
import { makeSafeLine } from "../terminal/untrusted-text.ts";
import { showWaiting } from "../terminal/waiting-bar.ts";
import { type Measured, measureModel } from "./bench/measure-model.ts";
import type { Define } from "./command-row.ts";
import { addServerFlags, withServer } from "./server-flags.ts";

type BenchFlags = ServerFlags & {
  readonly json?: boolean;
  readonly svg?: string;
  readonly clients: string;
  readonly seconds: string;
};

const mostClients = 64;

export const define: Define = (command) => {
  addServerFlags(
    command
      .argument("[model]", "the model to measure (default: the smallest that is here)")
      .option("--clients <numbers>", "how many ask at once, with commas between", "1,2,4,8,16")
      .option("--seconds <number>", "about how long all of it may take", "30")
      .option("--svg <file>", "draw the curve into this file, too")
      .option("--json", "as JSON, for programs"),
  ).action((model: string | undefined, flags: BenchFlags) =>
    withServer(flags, async (server) => {
      const name = model ?? (await smallestModel(server));
      const measured = await measure(server, name, flags);
      const curve = {
        title: `${makeSafeLine(name)}: clients against tokens per second`,
        points: measured.curve,
      };
      if (flags.svg !== undefined) await writeSvg(flags.svg, drawCurveAsSvg(curve));
      if (flags.json === true) screen.line(JSON.stringify(measured, null, 2));
      else for (const line of [...tell(measured), "", ...drawCurve(curve, screen)]) screen.line(line);
      if (measured.isCut)
        errorScreen.line("The time was over before more clients were tried; --seconds gives it more");
    }),
  );
};

async function measure(server: ServerCaller, model: string, flags: BenchFlags): Promise<Measured> {
  const clients = flags.clients
    .split(",")
    .map((text) => readNumber(text.trim(), { flag: "--clients", most: mostClients }));
  const seconds = readNumber(flags.seconds, { flag: "--seconds", most: 3600 });
  using stack = new DisposableStack();
  stack.use(showWaiting(errorScreen, `Measuring ${makeSafeLine(model)}`));
  return await measureModel(server, { model, clients: clients.slice(0, 16), seconds });
}

function readNumber(text: string, { flag, most }: { readonly flag: string; readonly most: number }): number {
  const value = /^\d{1,4}$/u.test(text) ? Number(text) : 0;
  if (value >= 1 && value <= most) return value;
  const sentence = `Cannot use ${flag} "${text}": it must be a whole number from 1 to ${most}`;
  throw callFailure({ kind: "words-wrong", sentence });
}

async function smallestModel(server: ServerCaller): Promise<string> {
  const models = await listedModels(server);
  const able = models.filter(({ capabilities = ["completion"] }) => capabilities.includes("completion"));
  const [smallest] = able.toSorted((one, other) => one.size - other.size);
  if (smallest !== undefined) return smallest.name;
  const sentence = "Cannot measure: no model is here that writes text";
  throw callFailure({ kind: "words-wrong", sentence, next: "hearth pull MODEL fetches one" });
}

function tell({
  model,
  loadSeconds,
  firstTokenSeconds,
  readTokensPerSecond,
  writeTokensPerSecond,
}: Measured): readonly string[] {
  const rows: readonly (readonly [name: string, value: string])[] = [
    ["Model", makeSafeLine(model)],
    ["Loading", tellSeconds(loadSeconds)],
    ["First token", `${(firstTokenSeconds * 1000).toFixed(0)} ms after a short question`],
    ["Reading", `${readTokensPerSecond.toFixed(0)} tokens/s of a long prompt`],
    ["Writing", `${writeTokensPerSecond.toFixed(1)} tokens/s for one client`],
  ];
  return rows.map(([name, value]) => `${name.padEnd(14)}${value}`);
}

async function writeSvg(file: string, text: string): Promise<void> {
  try {
    await writeFile(file, text);
  } catch (problem) {
    const sentence = `Cannot write "${file}": its folder is not there, or it is not yours to write to`;
    throw callFailure({ kind: "words-wrong", sentence }, { cause: problem });
  }
}
