import { readLastRun } from "../last-run.ts";
import type { Outcome } from "../line.ts";
import { runTests } from "../prove-by-tests.ts";

const maxUnitSeconds = 60;
const maxGateMinutes = 35;

/** Times the unit tests, and reads the duration of `.ci/run` on this tree from its record. */
export async function proveSuiteTime(): Promise<Outcome> {
  const startedAt = performance.now();
  const unit = await runTests(["--project=unit"]);
  const seconds = (performance.now() - startedAt) / 1000;
  const gate = await readLastRun();
  const unitFigure = `${unit.passed} of ${unit.passed + unit.failed} unit tests passed in ${seconds.toFixed(0)} of at most ${maxUnitSeconds} s`;
  if (gate === undefined) {
    return { isProven: false, figure: `${unitFigure}; no run of .ci/run is recorded for this tree` };
  }
  const minutes = gate.seconds / 60;
  return {
    isProven: unit.failed === 0 && unit.passed > 0 && seconds <= maxUnitSeconds && minutes <= maxGateMinutes,
    figure: `${unitFigure}; .ci/run took ${minutes.toFixed(1)} of at most ${maxGateMinutes} minutes, ${gate.caches} caches`,
  };
}
