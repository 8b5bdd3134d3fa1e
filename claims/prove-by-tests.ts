import { existsSync } from "node:fs";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, relative } from "node:path";
import { type Figure, readFigures } from "@hearth-and-keep/figures";
import type { Need, Outcome, ShowLine } from "./line.ts";
import { root, runToEnd } from "./run-to-end.ts";

export type TestRun = {
  readonly passed: number;
  readonly failed: number;
  readonly files: readonly string[];
  readonly figures: readonly Figure[];
  /** For each failed test: its file, its name, and the first line of the error. */
  readonly failures: readonly string[];
  /** Their paths below the root. */
  readonly failedFiles: readonly string[];
};

export type Claim = { readonly title: string; readonly paths: readonly string[] };

/** The claims of a topic, numbered in order, each proven by its tests. */
export function claimLines(
  topic: string,
  claims: readonly Claim[],
  needs: readonly Need[],
): readonly ShowLine[] {
  return claims.map(({ title, paths }, index) => ({
    topic,
    line: index + 1,
    title,
    needs,
    ...provenByTests(`${topic} ${index + 1}`, paths),
  }));
}

/** Runs exactly these tests; the claim holds when all pass and record its figure, and every count is reached. */
export function provenByTests(
  claim: string,
  paths: readonly string[],
): Required<Pick<ShowLine, "tests" | "prove">> {
  const prove = async (): Promise<Outcome> => {
    // Running concurrently, they would distort each other's timings.
    const isTimed = paths.some((path) => /\.(?:bench|baseline|model)\./u.test(path));
    const sequential = isTimed ? ["--no-file-parallelism"] : [];
    const run = await runTests([...paths, ...sequential]);
    const missing = paths.filter((path) => !run.files.some((file) => file.includes(path)));
    if (missing.length > 0) return { isProven: false, figure: `no test ran in ${missing.join(", ")}` };
    const figures = run.figures.filter((figure) => figure.claim === claim);
    return evaluateRun(run, figures);
  };
  return { tests: paths, prove };
}

export function evaluateRun(run: TestRun, figures: readonly Figure[]): Outcome {
  const tests = `${run.passed} of ${run.passed + run.failed} tests passed`;
  if (run.failed > 0 || run.passed === 0) {
    return { isProven: false, figure: [...figures.map(({ text }) => text), tests].join("; ") };
  }
  if (figures.length === 0) return { isProven: false, figure: `${tests}, but no figure was measured` };
  const short = figures.filter(({ counted }) => counted !== undefined && counted.reached < counted.needed);
  const texts = (short.length > 0 ? short : figures).map((figure) => figure.text);
  return { isProven: short.length === 0, figure: [...texts, tests].join("; ") };
}

/** Runs the test runner with these paths and options; without paths, it runs all tests. */
export async function runTests(
  paths: readonly string[],
  environment: Readonly<Record<string, string>> = {},
): Promise<TestRun> {
  const folder = await mkdtemp(join(tmpdir(), "show-"));
  const report = join(folder, "report.json");
  const figuresFile = join(folder, "figures.jsonl");
  try {
    const args = ["run", ...paths, "--reporter=default", "--reporter=json", `--outputFile.json=${report}`];
    await runToEnd(join(root, "node_modules/.bin/vitest"), args, {
      ...environment,
      FIGURES_FILE: figuresFile,
    });
    return {
      ...(existsSync(report) ? await readReport(report) : noReport),
      figures: existsSync(figuresFile) ? readFigures(figuresFile) : [],
    };
  } finally {
    await rm(folder, { recursive: true });
  }
}

const noReport = {
  passed: 0,
  failed: 1,
  files: [],
  failures: ["The test runner left no report"],
  failedFiles: [],
};

/** The fields that we read from the runner's JSON report. */
type Report = {
  numPassedTests: number;
  numFailedTests: number;
  numPendingTests: number;
  testResults: TestFile[];
};
type TestFile = { name: string; status: string; message: string; assertionResults: TestResult[] };
type TestResult = { fullName: string; status: string; failureMessages: string[] };

async function readReport(path: string): Promise<Omit<TestRun, "figures">> {
  // Written by the test runner, whose version is pinned.
  const report = JSON.parse(await readFile(path, "utf8")) as Report;
  // A file that failed to load has no test results, so it counts as one failure; so does a test that did not run.
  const broken = report.testResults.filter(
    (file) => file.status === "failed" && file.assertionResults.length === 0,
  );
  return {
    passed: report.numPassedTests,
    failed: report.numFailedTests + report.numPendingTests + broken.length,
    files: report.testResults.map((file) => file.name),
    failedFiles: report.testResults.filter(hasFailed).map(({ name }) => relative(root, name)),
    failures: [
      ...broken.map((file) => formatFailure(file, file.message)),
      ...report.testResults.flatMap((file) =>
        file.assertionResults
          .filter(({ status }) => status !== "passed")
          .map(({ fullName, status, failureMessages: [reason = status] }) =>
            formatFailure(file, `${fullName.trim()}: ${reason}`),
          ),
      ),
    ],
  };
}

/** Also when a test did not run. */
function hasFailed({ status, assertionResults }: TestFile): boolean {
  return status === "failed" || assertionResults.some((test) => test.status !== "passed");
}

function formatFailure({ name }: TestFile, text: string): string {
  return `${relative(root, name)}: ${text.split("\n", 1)[0] ?? ""}`;
}
