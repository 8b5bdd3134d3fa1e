import { execFileSync } from "node:child_process";
import { join } from "node:path";
import { root } from "../run-to-end.ts";

/** Clones the committed tree, without installed packages. */
export function cloneInto(folder: string): string {
  const clone = join(folder, "clone");
  execFileSync("git", ["clone", "--quiet", "--no-hardlinks", root, clone], {
    stdio: ["ignore", "ignore", "inherit"],
  });
  return clone;
}
