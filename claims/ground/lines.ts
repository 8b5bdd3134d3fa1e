/**
 * @module
 * The claims of the ground floor: the repository checks itself, its test parts are real, its programs install and
 * start elsewhere, and its papers tell the truth. Tests here prove what belongs to no single package.
 * Imported by `claims/main.ts`.
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
    title: "Every import rule and every check fires when broken",
    needs: [],
    ...provenByTests("ground 2", ["checks/"]),
  },
  {
    topic,
    line: 3,
    title: "Both tarballs install and work outside the clone, without packages for a GPU",
    needs: ["debian packages", "python", "test models"],
    ...provenByTests("ground 3", ["claims/ground/tarballs.integration.test.ts"]),
  },
  {
    topic,
    line: 4,
    title: "Every test part starts, is used for real, and leaves no process, port or folder behind",
    needs: ["debian packages", "python", "test models"],
    prove: proveTestServers,
  },
  {
    topic,
    line: 5,
    title: "The MiniLM model file gives the similarities of an independent float32 computation",
    needs: ["debian packages", "python", "test models"],
    ...provenByTests("ground 5", ["packages/test-servers/src/models/minilm-similarity.model.test.ts"]),
  },
  {
    topic,
    line: 6,
    title: "npm run show lists and runs these lines, also when started by Node 20",
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
