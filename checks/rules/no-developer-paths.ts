import type { Rule } from "../finding.ts";
import { findInText } from "../text-search.ts";

const name = "no-developer-paths";
const homes = ["home", "Users"].map((folder) => `/${folder}/[A-Za-z0-9._-]+`);
const ownFolders = ["root", "work"].map((folder) => `/${folder}/[A-Za-z0-9._-]`);
const windows = String.raw`[A-Z]:\\{1,2}Users\\{1,2}[A-Za-z0-9._-]`;
// The character before tells a path of the machine from the middle of a relative path or an address.
const pattern = new RegExp(`(?<![A-Za-z0-9_.~}*-])(?:${[...homes, ...ownFolders, windows].join("|")})`, "u");

/** Nothing in the repository names a folder of one developer's machine. */
export const noDeveloperPaths: Rule = {
  name,
  find(files) {
    return findInText(files, {
      rule: name,
      pattern,
      message: (found) => `Write a path that exists on every machine instead of "${found}"`,
    });
  },
};
