import type { Rule } from "../finding.ts";
import { findInText } from "../text-search.ts";

const name = "no-registry-hosts";
// In pieces, so that this file does not contain what it forbids.
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

/** Which package registry is used is the machine's setting, so no file names one. */
export const noRegistryHosts: Rule = {
  name,
  find(files) {
    return findInText(files, {
      rule: name,
      pattern,
      message: (found) => `Leave the registry to the machine's settings instead of naming "${found}"`,
    });
  },
};
