import { describeTree, readLastRun } from "../last-run.ts";
import type { Outcome } from "../line.ts";

const mostMinutes = 60;

/** Reads the stage table that the last `.ci/run` left; a run of another tree proves nothing about this one. */
export async function proveCiTime(): Promise<Outcome> {
  const run = await readLastRun();
  if (run === undefined) {
    return {
      isProven: false,
      figure: `no run of .ci/run is recorded for tree ${describeTree()}; run it first`,
    };
  }
  for (const stage of run.stages) {
    process.stdout.write(
      `${String(stage.seconds).padStart(6)} s  ${stage.isPassed ? "passed" : "FAILED"}  ${stage.name}\n`,
    );
  }
  const minutes = run.seconds / 60;
  return {
    isProven: run.failed === 0 && minutes <= mostMinutes,
    figure: `${minutes.toFixed(1)} of at most ${mostMinutes} minutes, ${run.caches} caches, ${run.passed} passed, ${run.failed} failed`,
  };
}
