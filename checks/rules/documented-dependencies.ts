import { lineOf, type Rule } from "../finding.ts";
import { readJson } from "../json-text.ts";
import { packageManifests, thirdPartyNames } from "../package-graph.ts";

const name = "documented-dependencies";
const documentPath = "docs/dependencies.md";

/** Each third-party dependency, of any kind, has a row that states its purpose. */
export const documentedDependencies: Rule = {
  name,
  find(files) {
    const rows = files.find(({ path }) => path === documentPath)?.text.split("\n") ?? [];
    return packageManifests(files).flatMap((manifest) =>
      thirdPartyNames(readJson(manifest))
        .filter((dependency) => !rows.some((row) => row.startsWith(`| \`${dependency}\` |`)))
        .map((dependency) => ({
          path: manifest.path,
          line: lineOf(manifest.text, manifest.text.indexOf(`"${dependency}":`)),
          rule: name,
          message: `Add a row for "${dependency}" to ${documentPath}`,
        })),
    );
  },
};
