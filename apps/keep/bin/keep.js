#!/usr/bin/env node
// Runs the TypeScript sources in a clone and the bundle in an installed package. Old Node versions must be able to load
// this file to print the version check, so it uses only exports that they have.
import { existsSync, statSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";

const [major, minor] = process.versions.node.split(".").map(Number);
if (major < 24 || (major === 24 && minor < 15)) {
  process.stderr.write(
    `Keep requires Node.js 24.15 or newer, but this is Node.js ${process.versions.node}\n`,
  );
  process.exit(1);
}
if (process.argv[2] === "serve") keepMemorySmall();
else enableCompileCache();
const source = new URL("../src/main.ts", import.meta.url);
await import(existsSync(source) ? source.href : new URL("../dist/main.js", import.meta.url).href);

/**
 * What the start allocates is garbage soon. If the young generation grew for it, an idle server would keep 14 MB of empty
 * memory; `keep serve` lets it grow once there are requests.
 */
function keepMemorySmall() {
  // An import would load what commands do not need, and take longer than the rest of this file.
  process.getBuiltinModule("node:v8").setFlagsFromString("--semi-space-growth-factor=1");
}

/**
 * Commands start faster with compiled code; a server would only keep it in memory. The cache is code that runs as this user,
 * so it is in their own home folder only, and not in one that `sudo` has kept from somebody else.
 */
function enableCompileCache() {
  const home = homedir();
  const isOwn = statSync(home, { throwIfNoEntry: false })?.uid === process.getuid?.();
  if (isOwn) process.getBuiltinModule("node:module").enableCompileCache(join(home, ".cache/keep/compiled"));
}
