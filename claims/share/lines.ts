/**
 * @module
 * The claims about many people on one server: who waits, who is served, what each key may use, and how anyone can see it.
 * Imported by `claims/all-lines.ts`.
 */
import type { Need, ShowLine } from "../line.ts";
import { provenByTests } from "../prove-by-tests.ts";

const topic = "share";
const everything: readonly Need[] = ["debian packages", "python", "test models"];

type Line = Pick<ShowLine, "line" | "title"> & { readonly paths: readonly string[] };

const lines: readonly Line[] = [
  {
    line: 1,
    title:
      "A key with many connections delays another one little, and greedy keys get equal shares of tokens",
    paths: ["bench/fair-keys.bench.test.ts", "apps/hearth/src/scheduling/fair-turns.test.ts"],
  },
  {
    line: 2,
    title: "Turns of keys cost no throughput",
    paths: ["bench/fair-throughput.bench.test.ts"],
  },
  {
    line: 3,
    title: "Clients of many keys, APIs and models get their own answers, and retry what was rejected",
    paths: ["conformance/many-keys.model.test.ts"],
  },
  {
    line: 4,
    title:
      "Budgets hold to the token on two nodes, also when servers are killed, and the ledger has every answer",
    paths: [
      "apps/hearth/src/accounting/exact-budgets.integration.test.ts",
      "apps/hearth/src/key-store/usage-ledger.integration.test.ts",
      "apps/hearth/src/usage",
    ],
  },
  {
    line: 5,
    title:
      "No limit of a key is exceeded in any window, in any API, on any node, and official clients know why",
    paths: [
      "apps/hearth/src/key-store/key-store.integration.test.ts",
      "apps/hearth/src/accounting/limits.integration.test.ts",
      "apps/hearth/src/accounting/attacks.integration.test.ts",
      "conformance/rate-limits.model.test.ts",
    ],
  },
  {
    line: 6,
    title: "Waiting clients of every API are told their position and a wait that holds",
    paths: [
      "conformance/queue-positions.model.test.ts",
      "apps/hearth/src/dialects/ollama/queue.integration.test.ts",
    ],
  },
  {
    line: 7,
    title: "Keys, ledger, metrics and log cost hardly any throughput and less than a millisecond per request",
    paths: ["bench/usage-cost.bench.test.ts"],
  },
  {
    line: 8,
    title:
      "A revoked key, a lower limit and another role are in force within a second on every node, mid-stream too",
    paths: [
      "apps/hearth/src/accounting/changed-keys.integration.test.ts",
      "apps/hearth/src/accounting/attacks.integration.test.ts",
    ],
  },
  {
    line: 9,
    title:
      "Promtool accepts the rules and the dashboard, every metric is documented, and traces harm no request",
    paths: [
      "apps/hearth/src/openapi/monitoring.integration.test.ts",
      "apps/hearth/src/tracing/open-tracing.integration.test.ts",
      "apps/hearth/src/models/remote/location.integration.test.ts",
      "apps/hearth-web/test/usage.browser.test.ts",
    ],
  },
];

export const shareLines: readonly ShowLine[] = lines.map(({ paths, ...line }) => ({
  topic,
  needs: everything,
  ...line,
  ...provenByTests(`${topic} ${line.line}`, paths),
}));
