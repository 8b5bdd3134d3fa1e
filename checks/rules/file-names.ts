import type { Finding, Rule } from "../finding.ts";
import { isFixture } from "../source-tree.ts";

const name = "file-names";
const emptyWords = new Set(
  "utils util common helpers helper misc lib core base manager types interfaces constants".split(" "),
);
const kebabCase = /^[a-z0-9]+(?:-[a-z0-9]+)*(?:\.[a-z0-9-]+)*\.tsx?$/u;

/** Files and folders say what is in them, and TypeScript files are in kebab-case. */
export const fileNames: Rule = {
  name,
  find(files) {
    return files.filter(({ path }) => !isFixture(path)).flatMap(({ path }) => findInPath(path));
  },
};

function findInPath(path: string): Finding[] {
  const findings: Finding[] = [];
  const segments = path.split("/");
  const empty = segments.find((segment) => emptyWords.has(segment.split(".", 1)[0] ?? ""));
  if (empty !== undefined) {
    const message = `Rename "${empty}" after what it holds`;
    findings.push({ path, line: 1, rule: name, message });
  }
  const file = segments.at(-1) ?? "";
  if (/\.tsx?$/u.test(file) && !kebabCase.test(file)) {
    findings.push({ path, line: 1, rule: name, message: `Rename "${file}" in kebab-case` });
  }
  return findings;
}
