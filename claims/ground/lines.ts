/**
 * @module
 * The claims about the repository itself: its checks fire, its test servers are real, its programs install and start
 * outside the clone, and its documentation is accurate. The tests here belong to no single package.
 * Imported by `claims/all-lines.ts`.
 */
import type { ShowLine } from "../line.ts";
import { provenByTests } from "../prove-by-tests.ts";
import { proveCiTime } from "./ci-time.ts";
import { proveTestServers } from "./test-servers.ts";

const topic = "ground";

export const groundLines: readonly ShowLine[] = [
  {
    topic,
    line: 1,
    title: "The last run of .ci/run on this tree took no longer than 60 minutes",
    needs: [],
    prove: proveCiTime,
  },
  {
    topic,
    line: 2,
    title: "Every import rule and every check fires on code that violates it",
    needs: [],
    ...provenByTests("ground 2", ["checks/"]),
  },
  {
    topic,
    line: 3,
    title: "Both tarballs install and work outside the clone, without GPU packages",
    needs: ["debian packages", "python", "test models"],
    ...provenByTests("ground 3", ["claims/ground/tarballs.integration.test.ts"]),
  },
  {
    topic,
    line: 4,
    title: "Every test server starts, is used by tests, and leaves no process, port or folder behind",
    needs: ["debian packages", "python", "test models"],
    prove: proveTestServers,
  },
  {
    topic,
    line: 5,
    title: "The MiniLM model file reproduces the similarities of an independent float32 computation",
    needs: ["debian packages", "python", "test models"],
    ...provenByTests("ground 5", ["packages/test-servers/src/models/minilm-similarity.model.test.ts"]),
  },
  {
    topic,
    line: 6,
    title: "npm run show lists and proves these claims, also when started by Node 20",
    needs: [],
    ...provenByTests("ground 6", ["claims/ground/show-command.browser.test.ts"]),
  },
  {
    topic,
    line: 7,
    title: "The README's quick start works line by line from an empty folder",
    needs: ["debian packages", "python", "test models"],
    ...provenByTests("ground 7", ["claims/ground/quick-start.browser.test.ts"]),
  },
];
