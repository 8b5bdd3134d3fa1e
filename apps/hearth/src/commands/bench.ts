import { writeFile } from "node:fs/promises";
import { errorScreen, sanitizeLine, screen } from "@hearth-and-keep/terminal";
import { Option } from "commander";
import { callFailure } from "../server-client/call-failure.ts";
import { listModels } from "../server-client/response-types.ts";
import type { ServerClient, ServerFlags } from "../server-client/server-client.ts";
import { formatDuration } from "../terminal/format-units.ts";
import { showSpinner } from "../terminal/spinner.ts";
import { renderChart, renderChartAsSvg } from "../terminal/throughput-chart.ts";
import { type BenchmarkResult, measureModel } from "./bench/measure-model.ts";
import type { DefineCommand } from "./command-entry.ts";
import { addServerFlags, withServer } from "./server-flags.ts";

type BenchFlags = ServerFlags & {
  readonly json?: boolean;
  readonly svg?: string;
  readonly clients: string;
  readonly seconds: string;
};

const maxClients = 64;

export const define: DefineCommand = (command) => {
  addServerFlags(
    command
      .argument("[model]", "model to measure (default: the smallest local model)")
      .addOption(
        new Option("--clients <numbers>", "numbers of concurrent clients, comma-separated").default(
          "1,2,4,8,16",
          "1,2,4,8,16",
        ),
      )
      .addOption(new Option("--seconds <number>", "approximate time limit").default("30", "30"))
      .option("--svg <file>", "also write the chart to this file")
      .option("--json", "print JSON"),
  ).action((model: string | undefined, flags: BenchFlags) =>
    withServer(flags, async (server) => {
      const name = model ?? (await smallestModel(server));
      const result = await measure(server, name, flags);
      const chart = {
        title: `${sanitizeLine(name)}: tokens per second by number of clients`,
        points: result.throughput,
      };
      if (flags.svg !== undefined) await writeSvg(flags.svg, renderChartAsSvg(chart));
      if (flags.json === true) screen.writeLine(JSON.stringify(result, null, 2));
      else
        for (const line of [...formatSummary(result), "", ...renderChart(chart, screen)])
          screen.writeLine(line);
      if (result.isTruncated)
        errorScreen.writeLine(
          "Time limit reached before all client counts were measured; raise it with --seconds",
        );
    }),
  );
};

async function measure(server: ServerClient, model: string, flags: BenchFlags): Promise<BenchmarkResult> {
  const clients = flags.clients
    .split(",")
    .map((text) => parsePositiveInteger(text.trim(), { flag: "--clients", max: maxClients }));
  const seconds = parsePositiveInteger(flags.seconds, { flag: "--seconds", max: 3600 });
  using stack = new DisposableStack();
  stack.use(showSpinner(errorScreen, `Measuring ${sanitizeLine(model)}`));
  return await measureModel(server, { model, clients: clients.slice(0, 16), seconds });
}

function parsePositiveInteger(
  text: string,
  { flag, max }: { readonly flag: string; readonly max: number },
): number {
  const value = /^\d{1,4}$/u.test(text) ? Number(text) : 0;
  if (value >= 1 && value <= max) return value;
  const message = `Invalid ${flag} "${text}": use a whole number from 1 to ${max}`;
  throw callFailure({ kind: "usage-error", message });
}

async function smallestModel(server: ServerClient): Promise<string> {
  const models = await listModels(server);
  const generative = models.filter(({ capabilities = ["completion"] }) =>
    capabilities.includes("completion"),
  );
  const [smallest] = generative.toSorted((one, other) => one.size - other.size);
  if (smallest !== undefined) return smallest.name;
  const message = "No local model can generate text";
  throw callFailure({ kind: "usage-error", message, next: 'run "hearth pull MODEL" to download one' });
}

function formatSummary({
  model,
  loadSeconds,
  firstTokenSeconds,
  promptTokensPerSecond,
  outputTokensPerSecond,
}: BenchmarkResult): readonly string[] {
  const rows: readonly (readonly [name: string, value: string])[] = [
    ["Model", sanitizeLine(model)],
    ["Load", formatDuration(loadSeconds)],
    ["First token", `${(firstTokenSeconds * 1000).toFixed(0)} ms, short prompt`],
    ["Prompt", `${promptTokensPerSecond.toFixed(0)} tokens/s, long prompt`],
    ["Output", `${outputTokensPerSecond.toFixed(1)} tokens/s, one client`],
  ];
  return rows.map(([name, value]) => `${name.padEnd(14)}${value}`);
}

async function writeSvg(file: string, text: string): Promise<void> {
  try {
    await writeFile(file, text);
  } catch (error) {
    const message = `Cannot write "${file}": the folder does not exist or is not writable`;
    throw callFailure({ kind: "usage-error", message }, { cause: error });
  }
}
