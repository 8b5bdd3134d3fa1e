/**
 * @module
 * The part of `.ci/run` that needs Node: runs every stage in order, regardless of earlier failures, then prints the
 * figures of all claims, the failures, a table of the stages, and the closing line `N passed, N failed`.
 * Records the run for `npm run show -- ground 1`.
 */

import { describeTree, writeLastRun } from "../../claims/last-run.ts";
import { shellStages } from "./config.ts";
import { type StageResult, stages } from "./stages.ts";

const preparedByShell: StageResult = { passed: 1, failed: 0, figures: [], failures: [] };

type FinishedStage = StageResult & { readonly name: string; readonly seconds: number };

async function main(): Promise<number> {
  const tree = describeTree();
  const finished: FinishedStage[] = [
    { name: "Debian packages", seconds: shellStages.debianSeconds, ...preparedByShell },
    { name: "Node and npm packages", seconds: shellStages.nodeSeconds, ...preparedByShell },
  ];
  for (const { name, run, latestStartSeconds = Number.POSITIVE_INFINITY } of stages) {
    print(`\n== ${name}`);
    const startedAt = Date.now();
    const isTooLate = startedAt / 1000 - shellStages.startedAtSeconds > latestStartSeconds;
    const result = isTooLate ? leftOut(latestStartSeconds) : await run().catch(asFailedStage);
    finished.push({ ...result, name, seconds: Math.round((Date.now() - startedAt) / 1000) });
  }
  const totals = {
    passed: finished.reduce((sum, stage) => sum + stage.passed, 0),
    failed: finished.reduce((sum, stage) => sum + stage.failed, 0),
    seconds: Math.round(Date.now() / 1000 - shellStages.startedAtSeconds),
  };
  await writeLastRun({
    tree,
    ...totals,
    finishedAt: new Date().toISOString(),
    caches: shellStages.caches,
    stages: finished.map(({ name, seconds, failed }) => ({ name, seconds, isPassed: failed === 0 })),
  });
  printTable(finished, totals.seconds);
  print(`${totals.passed} passed, ${totals.failed} failed`);
  return totals.failed === 0 ? 0 : 1;
}

/** Said among the figures, so that the closing line is not read as if the stage had run. */
function leftOut(latestStartSeconds: number): StageResult {
  const text = `left out: the stages before it took more than ${latestStartSeconds / 60} minutes`;
  print(text);
  return {
    passed: 0,
    failed: 0,
    figures: [{ claim: "ground 1", text: `a stage was ${text}` }],
    failures: [],
  };
}

function asFailedStage(error: unknown): StageResult {
  print(error instanceof Error ? (error.stack ?? error.message) : String(error));
  return { passed: 0, failed: 1, figures: [], failures: ["The stage could not run; see its output above"] };
}

function printTable(finished: readonly FinishedStage[], totalSeconds: number): void {
  print("\n== Figures");
  for (const { claim, text } of finished.flatMap((stage) => stage.figures)) print(`${claim}: ${text}`);
  const failures = finished.flatMap((stage) => stage.failures.map((failure) => `${stage.name}: ${failure}`));
  if (failures.length > 0) print("\n== Failures");
  for (const failure of failures) print(failure);
  const unrepeated = finished.flatMap((stage) =>
    (stage.unrepeated ?? []).map((failure) => `${stage.name}: ${failure}`),
  );
  if (unrepeated.length > 0) print("\n== Failed once, and passed when run again alone");
  for (const failure of unrepeated) print(failure);
  print("\n== Stages");
  for (const { name, seconds, passed, failed } of finished) {
    print(
      `${name.padEnd(36)} ${String(seconds).padStart(5)} s ${String(passed).padStart(6)} passed ${String(failed).padStart(4)} failed`,
    );
  }
  print(`${"Total".padEnd(36)} ${String(totalSeconds).padStart(5)} s`);
}

function print(text: string): void {
  process.stdout.write(`${text}\n`);
}

process.exitCode = await main();
