import type { Figure } from "@hearth-and-keep/figures";
import { corpusModels, findLeftovers, preparePython } from "@hearth-and-keep/test-servers";
import { runTests } from "../../claims/prove-by-tests.ts";
import { runToEnd } from "../../claims/run-to-end.ts";
import { runTrace } from "./config.ts";
import { type RepeatedRun, runRepeatingFailures } from "./run-repeating-failures.ts";

export type StageResult = {
  readonly passed: number;
  readonly failed: number;
  readonly figures: readonly Figure[];
  readonly failures: readonly string[];
  /** Failures that did not occur again when their files were run alone. */
  readonly unrepeated?: readonly string[];
};
export type Stage = {
  readonly name: string;
  readonly run: () => Promise<StageResult>;
  /** On a machine on which the stages before take longer, this one is left out. */
  readonly latestStartSeconds?: number;
};

/** A run has 90 minutes. What benchmarks measure on so slow a machine says nothing. */
const latestBenchmarkSeconds = 50 * 60;

export const stages: readonly Stage[] = [
  { name: "Python environment", run: () => preparation(preparePython()) },
  { name: "Test models", run: () => preparation(corpusModels()) },
  { name: "Format", run: () => command("biome", ["ci", "--colors=off", "."]) },
  { name: "Lint", run: () => command("oxlint", ["--type-aware"]) },
  { name: "Types", run: () => command("tsc", ["--noEmit"]) },
  { name: "Types: console", run: () => command("tsc", ["--noEmit", "-p", "apps/keep-console"]) },
  { name: "Types: console tests", run: () => command("tsc", ["--noEmit", "-p", "apps/keep-console/test"]) },
  { name: "Types: web UI", run: () => command("tsc", ["--noEmit", "-p", "apps/hearth-web"]) },
  {
    name: "Types: web UI tests",
    run: () => command("tsc", ["--noEmit", "-p", "apps/hearth-web/test"]),
  },
  { name: "Unused code", run: () => command("knip", []) },
  { name: "Unit tests", run: () => runProject("unit") },
  { name: "Integration tests", run: () => runProject("integration*") },
  { name: "Browser tests", run: () => runProject("browser") },
  { name: "Tests with real models", run: () => runProject("real-model*") },
  {
    name: "Benchmarks, one round each",
    run: () => runProject("bench"),
    latestStartSeconds: latestBenchmarkSeconds,
  },
  { name: "Leftovers", run: checkLeftovers },
];

function runProject(name: string): Promise<RepeatedRun> {
  return runRepeatingFailures(`--project=${name}`, runTests);
}

async function preparation(work: Promise<unknown>): Promise<StageResult> {
  await work;
  return { passed: 1, failed: 0, figures: [], failures: [] };
}

async function command(name: string, args: readonly string[]): Promise<StageResult> {
  const isPassed = (await runToEnd(`node_modules/.bin/${name}`, args)) === 0;
  const failures = isPassed ? [] : [`${name} ${args.join(" ")}`.trim()];
  return { passed: isPassed ? 1 : 0, failed: failures.length, figures: [], failures };
}

async function checkLeftovers(): Promise<StageResult> {
  const leftovers = findLeftovers(runTrace);
  const text = `${leftovers.length} processes, ports or files left behind by the run`;
  return {
    passed: leftovers.length === 0 ? 1 : 0,
    failed: leftovers.length,
    figures: [{ claim: "ground 4", text }],
    failures: leftovers,
  };
}
