/**
 * @module
 * The claims about what developers use: the command line, the SDKs and the integrations of Keep.
 * Imported by `claims/all-lines.ts`.
 */
import type { Need, ShowLine } from "../line.ts";
import { provenByTests } from "../prove-by-tests.ts";

const topic = "client";
const needs: readonly Need[] = ["debian packages"];

type Line = Pick<ShowLine, "line" | "title"> & { readonly paths: readonly string[] };

const lines: readonly Line[] = [
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
