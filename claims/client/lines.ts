/**
 * @module
 * The claims about Keep in the hands of programs: the command line, the SDKs, the integrations, and the custody of its key.
 * Imported by `claims/all-lines.ts`.
 */
import type { Need, ShowLine } from "../line.ts";
import { provenByTests } from "../prove-by-tests.ts";

const topic = "client";
const needs: readonly Need[] = ["debian packages"];
const run = "apps/keep/src/client/run";

type Line = Pick<ShowLine, "line" | "title"> & { readonly paths: readonly string[] };

const lines: readonly Line[] = [
  {
    line: 1,
    title:
      "From the packed tarball in an empty folder, a program reads a secret after a login in Chromium within 60 seconds, next to the same with curl",
    paths: ["claims/client/first-secret.browser.test.ts"],
  },
  {
    line: 2,
    title:
      "Programs of shells, Node, Python, Java and make see signals, exit codes, terminals, input and 4 MB of environment as without keep run",
    paths: [`${run}/child-programs.integration.test.ts`],
  },
  {
    line: 3,
    title:
      "Without the server, a program starts with a copy within its age; an old, modified or foreign copy is refused, and a revocation beats it",
    paths: [`${run}/offline.integration.test.ts`, `${run}/read-run-values.integration.test.ts`],
  },
  {
    line: 4,
    title:
      "No value is in process lists, other environments, shell history, files, core dumps, logs, reports of crashes or redacted output, and a planted one is found",
    paths: [`${run}/canaries.integration.test.ts`, `${run}/mask-secrets.test.ts`],
  },
  {
    line: 5,
    title:
      "40 attempts of a hostile program in keep run --agent get no value, every use is in the audit log, and allowed calls work",
    paths: ["apps/keep/src/client/agent", "apps/keep/src/secrets/egress"],
  },
  {
    line: 6,
    title: "keep run takes at most 150 ms of its own time warm, and 300 ms cold",
    paths: ["bench/keep-run-start.bench.test.ts"],
  },
  {
    line: 7,
    title:
      "Jobs of GitHub Actions, External Secrets Operator, Terraform, services, containers and editors get secrets as documented, masked and without a stored token where the platform has an identity",
    paths: [
      "integrations/github-action/test",
      "integrations/kubernetes/test",
      "integrations/test/recipes.integration.test.ts",
    ],
  },
  {
    line: 8,
    title:
      "With each custodian of the key, running nodes go on while it is away or refuses, starting ones say why in one sentence, a swapped key is named, and rotations and moves lose nothing",
    paths: ["apps/keep/src/keys/custody", "packages/configuration/src/command-setting.test.ts"],
  },
  {
    line: 9,
    title:
      "With the key gone, two of three recovery shares open every value on a copy of the database, one opens nothing, and the drill changes nothing",
    paths: ["apps/keep/src/keys/recovery"],
  },
  {
    line: 10,
    title:
      "The SDKs do the same on Node 20, 22 and 24 and Python 3.10 to 3.13, are strictly typed, and have every field of the OpenAPI document",
    paths: ["sdks/test"],
  },
];

export const clientLines: readonly ShowLine[] = lines.map(({ paths, ...line }) => ({
  topic,
  needs,
  ...line,
  ...provenByTests(`${topic} ${line.line}`, paths),
}));
