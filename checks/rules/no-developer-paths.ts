import type { Rule } from "../finding.ts";
import { findInText } from "../text-search.ts";

const name = "no-developer-paths";
const homes = ["home", "Users"].map((folder) => `/${folder}/[A-Za-z0-9._-]+`);
const ownFolders = ["root", "work"].map((folder) => `/${folder}/[A-Za-z0-9._-]`);
const windows = String.raw`[A-Z]:\\{1,2}Users\\{1,2}[A-Za-z0-9._-]`;
// The preceding character distinguishes an absolute path from part of a relative path or a URL.
const pattern = new RegExp(`(?<![A-Za-z0-9_.~}*-])(?:${[...homes, ...ownFolders, windows].join("|")})`, "u");

/** No file in the repository contains a path of a developer's machine. */
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
