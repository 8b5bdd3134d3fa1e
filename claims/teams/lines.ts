/**
 * @module
 * The claims about Keep for teams: what a team can rely on that one person did not need.
 * Imported by `claims/all-lines.ts`.
 */
import type { Need, ShowLine } from "../line.ts";
import { provenByTests } from "../prove-by-tests.ts";

const topic = "teams";
const needs: readonly Need[] = ["debian packages"];

type Line = Pick<ShowLine, "line" | "title"> & { readonly paths: readonly string[] };

const lines: readonly Line[] = [
  {
    line: 2,
    title:
      "With the application's checks switched off, an organisation sees no row of another one in any table",
    paths: ["apps/keep/src/organisations/row-level-security.integration.test.ts"],
  },
  {
    line: 3,
    title:
      "Each rule admits whom it names and nobody close to it, a suspension is in force on every node within a second, and a membership that ends ends access at the next check",
    paths: [
      "apps/keep/src/admission/decide-admission.test.ts",
      "apps/keep/src/sign-in/admission.integration.test.ts",
      "apps/keep/src/sign-in/admitted-crowd.integration.test.ts",
      "apps/keep/src/operators",
      "apps/keep/src/commands/manage-accounts.integration.test.ts",
      "apps/keep/src/memberships",
    ],
  },
  {
    line: 6,
    title:
      "Forged and confused tokens of workloads are exchanged for nothing, and their twins once, on any node, until the rule ends",
    paths: ["apps/keep/src/workload"],
  },
  {
    line: 7,
    title:
      "Promoting 500 secrets under concurrent writes and kills is all or nothing, and each secret has its record",
    paths: ["apps/keep/src/secrets/environments"],
  },
  {
    line: 10,
    title: "Every property and parameter of Keep's API is described, and a client generated from it works",
    paths: [
      "apps/keep/src/openapi/openapi.integration.test.ts",
      "apps/keep/src/openapi/generated-client.integration.test.ts",
    ],
  },
];

export const teamsLines: readonly ShowLine[] = lines.map(({ paths, ...line }) => ({
  topic,
  needs,
  ...line,
  ...provenByTests(`${topic} ${line.line}`, paths),
}));
