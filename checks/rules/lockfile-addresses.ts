import type { Rule } from "../finding.ts";
import { isFixture, isNamed } from "../source-tree.ts";
import { findInText } from "../text-search.ts";

const name = "lockfile-addresses";

/** A lock file pins versions and checksums, not registry URLs; links to workspaces are allowed. */
export const lockfileAddresses: Rule = {
  name,
  find(files) {
    const lockFiles = files.filter(({ path }) => isNamed(path, "package-lock.json") && !isFixture(path));
    return findInText(lockFiles, {
      rule: name,
      pattern: /"resolved":\s*"[a-z+]+:[^"]*"/iu,
      message: (found) => `Install with omit-lockfile-registry-resolved; remove ${found}`,
    });
  },
};
