import type { Outcome } from "../line.ts";
import { runTests } from "../prove-by-tests.ts";

const runs = 10;

/** Repeating the suite exposes tests that depend on chance, order or load. */
export async function proveRepeatedRuns(): Promise<Outcome> {
  // All rules of the file: tests that a filter leaves out count as failed.
  const check = await runTests(["checks/repository.integration.test.ts"]);
  let passed = 0;
  const failures: string[] = [];
  for (let run = 1; run <= runs; run += 1) {
    const result = await runTests(["--project=unit", "--project=integration*"], { SCALE: "ci" });
    passed += result.passed;
    failures.push(...result.failures.map((failure) => `run ${run}: ${failure}`));
  }
  for (const failure of failures) process.stdout.write(`${failure}\n`);
  return {
    isProven: failures.length === 0 && passed > 0 && check.failed === 0 && check.passed > 0,
    figure: `${failures.length} of ${passed + failures.length} tests failed in ${runs} runs of unit and integration`,
  };
}
