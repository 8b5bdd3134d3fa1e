import type { Rule } from "../finding.ts";
import { findInText } from "../text-search.ts";

const name = "no-registry-hosts";
// Split into labels, so that this file does not contain the host names it forbids.
const hosts = [
  ["npmjs", "org"],
  ["npmjs", "com"],
  ["npmmirror", "com"],
  ["yarnpkg", "com"],
  ["pypi", "org"],
  ["pythonhosted", "org"],
  ["deb", "debian", "org"],
  ["security", "debian", "org"],
  ["proxy", "golang", "org"],
  ["static", "crates", "io"],
].map((labels) => labels.join(String.raw`\.`));
const pattern = new RegExp(`(?<![A-Za-z0-9-])(?:${hosts.join("|")})(?![A-Za-z0-9-])`, "iu");

/** The package registry is configured on each machine, so no file names one. */
export const noRegistryHosts: Rule = {
  name,
  find(files) {
    return findInText(files, {
      rule: name,
      pattern,
      message: (found) => `Configure the registry on the machine instead of naming "${found}"`,
    });
  },
};
