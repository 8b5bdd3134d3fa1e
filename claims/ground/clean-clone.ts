import { execFileSync } from "node:child_process";
import { globSync, rmSync } from "node:fs";
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

/** Gives a clone the packages of this repository as hard links, which takes seconds instead of most of a minute. */
export function linkPackages(clone: string): void {
  const folders = globSync(["node_modules", "{apps,packages}/*/node_modules"], { cwd: root });
  for (const folder of folders) execFileSync("cp", ["-al", join(root, folder), join(clone, folder)]);
  // What tools write here while they run must not change the originals.
  for (const name of globSync("node_modules/{.cache,.vite*}", { cwd: clone }))
    rmSync(join(clone, name), { recursive: true });
}
