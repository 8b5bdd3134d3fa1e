import type { Finding, Rule, TextFile } from "../finding.ts";
import { lineOf } from "../finding.ts";
import type { JsonObject } from "../json-text.ts";
import { stringAt } from "../json-text.ts";
import { type LockfileKey, lockedPackages, productionPackages } from "../package-graph.ts";

const name = "production-licences";
const lockPath = "package-lock.json";
const allowed = new Set([
  "MIT",
  "Apache-2.0",
  "ISC",
  "BSD-2-Clause",
  "BSD-3-Clause",
  "BlueOak-1.0.0",
  "0BSD",
  "Python-2.0",
  "CC0-1.0",
  "Unlicense",
]);

/** All packages that a user installs with either program have a permissive licence. */
export const productionLicences: Rule = {
  name,
  find(files) {
    const lock = files.find(({ path }) => path === lockPath);
    if (lock === undefined) return [];
    const packages = lockedPackages(files);
    return productionPackages(packages).flatMap((key) => findInPackage(key, { lock, packages }));
  },
};

type Locked = { readonly lock: TextFile; readonly packages: ReadonlyMap<LockfileKey, JsonObject> };

function findInPackage(key: LockfileKey, { lock, packages }: Locked): Finding[] {
  const licence = stringAt(packages.get(key), "license");
  if (licence !== undefined && isAllowed(licence)) return [];
  const line = lineOf(lock.text, lock.text.indexOf(`"${key}":`));
  const message = `Remove "${key}": its licence is ${licence === undefined ? "not stated" : `"${licence}"`}`;
  return [{ path: lockPath, line, rule: name, message }];
}

/** Evaluates an SPDX expression: one alternative of OR must be allowed, all operands of AND. AND binds tighter. */
function isAllowed(expression: string): boolean {
  const inner = /\((?<inside>[^()]*)\)/u.exec(expression);
  if (inner !== null) {
    const value = isAllowed(inner.groups?.["inside"] ?? "") ? "MIT" : "disallowed";
    return isAllowed(expression.replace(inner[0], value));
  }
  return expression.split(/\s+OR\s+/u).some((choice) => choice.split(/\s+AND\s+/u).every(isListed));
}

function isListed(licence: string): boolean {
  return allowed.has(licence.trim());
}
