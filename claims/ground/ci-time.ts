import { describeTree, readLastRun } from "../last-run.ts";
import type { Outcome } from "../line.ts";

const maxMinutes = 60;

/** Reads the stage table of the last `.ci/run` on this tree; runs of other trees prove nothing about it. */
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
    isProven: run.failed === 0 && minutes <= maxMinutes,
    figure: `${minutes.toFixed(1)} of at most ${maxMinutes} minutes, ${run.caches} caches, ${run.passed} passed, ${run.failed} failed`,
  };
}
