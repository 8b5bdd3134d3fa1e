import type { Finding, Rule } from "../finding.ts";
import { isFixture } from "../source-tree.ts";

const name = "file-names";
const vagueNames = new Set(
  "utils util common helpers helper misc lib core base manager types interfaces constants".split(" "),
);

/** Files and folders are named after their content; the linter checks kebab-case. */
export const fileNames: Rule = {
  name,
  find(files) {
    return files.filter(({ path }) => !isFixture(path)).flatMap(({ path }) => findInPath(path));
  },
};

function findInPath(path: string): Finding[] {
  const vague = path.split("/").find((segment) => vagueNames.has(segment.split(".", 1)[0] ?? ""));
  if (vague === undefined) return [];
  return [{ path, line: 1, rule: name, message: `Rename "${vague}" after what it contains` }];
}
