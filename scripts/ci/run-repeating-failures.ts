import type { TestRun } from "../../claims/prove-by-tests.ts";

export type RepeatedRun = Pick<TestRun, "passed" | "failed" | "figures" | "failures"> & {
  /** What failed in the first run only. */
  readonly unrepeated: readonly string[];
};

/** More than this many are broken, and not slowed down by something else on the machine. */
const maxRepeatedFiles = 12;

/**
 * Runs the tests of a project, and the files of failed ones again, one after another. Only what fails twice has failed;
 * what fails once is named, because such a test depends on time or chance.
 */
export async function runRepeatingFailures(
  project: string,
  runTests: (args: readonly string[]) => Promise<TestRun>,
): Promise<RepeatedRun> {
  const first = await runTests([project]);
  const files = first.failedFiles;
  if (files.length === 0 || files.length > maxRepeatedFiles) return { ...first, unrepeated: [] };
  process.stdout.write(`\nRunning ${files.length} files with failures again, one after another\n`);
  const second = await runTests([project, "--no-file-parallelism", ...files]);
  return {
    passed: first.passed + Math.max(0, first.failed - second.failed),
    failed: second.failed,
    figures: [...first.figures, ...second.figures],
    failures: second.failures,
    unrepeated: first.failures.filter((failure) => !second.failures.includes(failure)),
  };
}
