/**
 * @module
 * The claims about naming, wording, structure and the test suite itself: a newcomer can read the code, and a change is
 * verified within minutes. Imported by `claims/all-lines.ts`.
 */
import type { Need, ShowLine } from "../line.ts";
import { provenByTests } from "../prove-by-tests.ts";
import { proveRepeatedRuns } from "./repeated-runs.ts";
import { proveSuiteTime } from "./suite-time.ts";
import { proveTestCounts } from "./test-counts.ts";

const topic = "plain";
const everything: readonly Need[] = ["debian packages", "python", "test models"];

export const plainLines: readonly ShowLine[] = [
  {
    topic,
    line: 1,
    title: "No path, export, setting or route contains a banned word",
    needs: [],
    ...provenByTests("plain 1", ["checks/repository.integration.test.ts"]),
  },
  {
    topic,
    line: 2,
    title: "One command prints every user-visible sentence of either program",
    needs: [],
    ...provenByTests("plain 2", ["scripts/sentences/sentences.test.ts"]),
  },
  {
    topic,
    line: 3,
    title: "Every failure on /api has a code, by which the terminal and the web UI suggest the next step",
    needs: everything,
    ...provenByTests("plain 3", [
      "apps/hearth/src/dialects/ollama/failure-codes.model.test.ts",
      "apps/hearth-web/test/failure-codes.test.ts",
    ]),
  },
  {
    topic,
    line: 4,
    title: "The drivers import the engine port and not each other; every import rule fires when broken",
    needs: [],
    ...provenByTests("plain 4", ["checks/import-rules.integration.test.ts"]),
  },
  {
    topic,
    line: 5,
    title: "Product files executed by a warm chat, a pull, a secret write and a value read",
    needs: everything,
    ...provenByTests("plain 5", ["claims/plain/executed-files.model.test.ts"]),
  },
  {
    topic,
    line: 6,
    title: "Unit tests take at most 60 seconds, and .ci/run at most 35 minutes",
    needs: [],
    prove: proveSuiteTime,
  },
  {
    topic,
    line: 7,
    title: "Servers under test are seeded, and unit and integration tests pass ten times in a row",
    needs: everything,
    prove: proveRepeatedRuns,
  },
  {
    topic,
    line: 8,
    title: "The test suite covers what it covered before: declared tests by area, before and after",
    needs: [],
    prove: proveTestCounts,
  },
];
