import { dirname } from "node:path/posix";
import { type Finding, lineOf, type Rule, type TextFile } from "../finding.ts";
import { type JsonObject, objectAt, readJsonAt } from "../json-text.ts";
import { type LockfileKey, lockedPackages } from "../package-graph.ts";
import { isFixture, isNamed } from "../source-tree.ts";

const name = "install-scripts";
const documentPath = "docs/dependencies.md";

/** A package may run an install script only if package.json allows it and the documentation gives the reason. */
export const installScripts: Rule = {
  name,
  find(files) {
    const locks = files.filter(({ path }) => isNamed(path, "package-lock.json") && !isFixture(path));
    const settings = files.find(({ path }) => path === ".npmrc");
    const isStrict = /^strict-allow-scripts\s*=\s*true\s*$/mu.test(settings?.text ?? "");
    const message = "Set strict-allow-scripts=true in .npmrc";
    return [
      ...(isStrict ? [] : [{ path: ".npmrc", line: 1, rule: name, message }]),
      ...locks.flatMap((lock) => findInLock(lock, files)),
    ];
  },
};

function findInLock(lock: TextFile, files: readonly TextFile[]): Finding[] {
  const folder = dirname(lock.path);
  const manifestPath = folder === "." ? "package.json" : `${folder}/package.json`;
  const allowed = Object.keys(objectAt(readJsonAt(files, manifestPath), "allowScripts")).map(withoutVersion);
  const document = files.find(({ path }) => path === documentPath)?.text ?? "";
  const withScripts = namesWithScripts(lockedPackages(files, lock.path));
  const findings = [...withScripts].flatMap(([dependency, key]) => {
    const line = lineOf(lock.text, lock.text.indexOf(`"${key}":`));
    const problems = [
      ...(allowed.includes(dependency) ? [] : [`List "${dependency}" in allowScripts of ${manifestPath}`]),
      ...(hasReason(document, dependency) ? [] : [`Give the reason for "${dependency}" in ${documentPath}`]),
    ];
    return problems.map((message) => ({ path: lock.path, line, rule: name, message }));
  });
  const stale = allowed.filter((dependency) => !withScripts.has(dependency));
  return [...findings, ...stale.map((dependency) => reportStale(manifestPath, dependency))];
}

function namesWithScripts(packages: ReadonlyMap<LockfileKey, JsonObject>): ReadonlyMap<string, LockfileKey> {
  return new Map(
    [...packages]
      .filter(([, entry]) => entry["hasInstallScript"] === true)
      .map(([key]) => [key.slice(key.lastIndexOf("node_modules/") + "node_modules/".length), key]),
  );
}

/** Entries may be pinned: "name@1.2.3", and the name itself may begin with "@". */
function withoutVersion(entry: string): string {
  const at = entry.indexOf("@", 1);
  return at === -1 ? entry : entry.slice(0, at);
}

function hasReason(document: string, dependency: string): boolean {
  return document.split("\n").some((row) => {
    const reasons = row.startsWith(`| \`${dependency}\` |`) ? row.split("|").slice(2) : [];
    return reasons.some((cell) => /install script/iu.test(cell));
  });
}

function reportStale(path: string, dependency: string): Finding {
  return {
    path,
    line: 1,
    rule: name,
    message: `Remove "${dependency}" from allowScripts: it has no install script`,
  };
}
