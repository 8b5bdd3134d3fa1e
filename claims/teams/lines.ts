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
    line: 1,
    title:
      "Every route, principal, role, scope, vault, path and address opens exactly what the reviewed table says, and each refusal has a twin that is accepted",
    paths: [
      "apps/keep/src/access/team-authorization-matrix.integration.test.ts",
      "apps/keep/src/access/authorization-matrix.integration.test.ts",
      "apps/keep/src/authorization/grant-lists.test.ts",
    ],
  },
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
    line: 4,
    title:
      "Nothing of a person who leaves, is removed or suspended, or deletes their account works within a second on three nodes, and what is the organisation's goes on",
    paths: ["apps/keep/src/organisations/offboarding.integration.test.ts"],
  },
  {
    line: 5,
    title:
      "With two organisations of 2,000 members, 200 teams and 10,000 grants, reads and lists are about as fast as in a person's own account",
    paths: ["bench/keep-teams.bench.test.ts"],
  },
  {
    line: 6,
    title:
      "Forged and confused tokens of workloads, also those that a real Kubernetes API server signed, are exchanged for nothing, and their twins once, on any node, until the rule ends",
    paths: ["apps/keep/src/workload"],
  },
  {
    line: 7,
    title:
      "Promoting 500 secrets under concurrent writes and kills is all or nothing, and each secret has its record",
    paths: ["apps/keep/src/secrets/environments"],
  },
  {
    line: 8,
    title: "Approvals: no change without the second person, whichever route is used",
    paths: ["apps/keep/src/secrets/approvals"],
  },
  {
    line: 9,
    title:
      "Members, teams, access, approvals, tokens, environments, trust rules and accounts are managed in the console, on phones and by keyboard",
    paths: [
      "apps/keep-console/test/organisations.browser.test.ts",
      "apps/keep-console/test/organisation-contents.browser.test.ts",
      "apps/keep-console/test/organisation-keyboard.browser.test.ts",
      "apps/keep-console/test/sharing.browser.test.ts",
      "apps/keep-console/test/approvals.browser.test.ts",
      "apps/keep-console/test/environments.browser.test.ts",
      "apps/keep-console/test/trust-rules.browser.test.ts",
      "apps/keep-console/test/accounts.browser.test.ts",
      "apps/keep-console/test/every-screen.browser.test.ts",
    ],
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
