/**
 * @module
 * The claims about requests that do harm: none can stop, stall or kill another, and none can do more than its key may.
 * Imported by `claims/all-lines.ts`.
 */
import type { Need, ShowLine } from "../line.ts";
import { provenByTests } from "../prove-by-tests.ts";

const topic = "guard";
const everything: readonly Need[] = ["debian packages", "python", "test models"];

type Line = Pick<ShowLine, "line" | "title"> & { readonly paths: readonly string[] };

const lines: readonly Line[] = [
  {
    line: 1,
    title: "No single harmful request delays, fails or kills another client's stream",
    paths: [
      "conformance/robustness/harmful-requests.model.test.ts",
      "conformance/robustness/stalled-worker.model.test.ts",
    ],
  },
  {
    line: 2,
    title: "Whatever a worker or a spawned engine writes, the server lives and the model restarts",
    paths: [
      "packages/llama-engine/src/channel/receive-messages.test.ts",
      "conformance/robustness/hijacked-worker.model.test.ts",
      "packages/upstream-engine/src/llama-server/hostile-responses.integration.test.ts",
    ],
  },
  {
    line: 3,
    title: "A server that is stopped for longer than a worker may be silent kills no worker",
    paths: ["conformance/robustness/stopped-server.model.test.ts"],
  },
  {
    line: 4,
    title: "Clients that stop reading do not keep others waiting, and memory stays bounded",
    paths: ["conformance/robustness/slow-reader.model.test.ts"],
  },
  {
    line: 5,
    title: "A request for a larger context does not delay the first token of short requests beside it",
    paths: ["bench/larger-context.bench.test.ts", "apps/hearth/src/scheduling/context.test.ts"],
  },
  {
    line: 6,
    title: "No attack from inside a model's process succeeds, in every form of the sandbox",
    paths: ["packages/engine-host/src/sandbox/sandbox-forms.integration.test.ts"],
  },
  {
    line: 7,
    title: "Keys for inference can list, show and run models; only admin keys can change them",
    paths: ["apps/hearth/src/access/roles.model.test.ts"],
  },
  {
    line: 8,
    title: "Two servers use one store, and no blob is ever wrong or served before it is verified",
    paths: ["apps/hearth/src/models/transfers/two-servers.integration.test.ts"],
  },
  {
    line: 9,
    title:
      "Kills, hang-ups, hostile, malformed and slow requests, wrong keys and a soak leave all others unaffected",
    paths: [
      "conformance/robustness/worker-kills.model.test.ts",
      "conformance/robustness/hang-ups.model.test.ts",
      "conformance/robustness/engine-numbers.model.test.ts",
      "conformance/robustness/soak.model.test.ts",
      "conformance/robustness/malformed-beside-stream.model.test.ts",
      "conformance/robustness/slow-clients.model.test.ts",
      "conformance/robustness/memory-limit.model.test.ts",
      "apps/hearth/src/access/key-timing.integration.test.ts",
      "apps/hearth/src/scheduling/measured-memory.model.test.ts",
    ],
  },
  {
    line: 10,
    title: "All protection together costs at most 2% of throughput and 1 ms to the first byte",
    paths: ["bench/cost-of-protection.baseline.test.ts"],
  },
];

export const guardLines: readonly ShowLine[] = lines.map(({ paths, ...line }) => ({
  topic,
  needs: everything,
  ...line,
  ...provenByTests(`${topic} ${line.line}`, paths),
}));
