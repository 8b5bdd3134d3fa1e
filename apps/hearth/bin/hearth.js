#!/usr/bin/env node
// Runs the TypeScript sources in a clone and the bundle in an installed package. Old Node versions must be able to load
// this file to print the version check, so it uses only exports that they have: `enableCompileCache` came with Node 22.
import { existsSync } from "node:fs";
import nodeModule from "node:module";
import { homedir } from "node:os";
import { join } from "node:path";

const [major, minor] = process.versions.node.split(".").map(Number);
if (major < 24 || (major === 24 && minor < 15)) {
  process.stderr.write(
    `Hearth requires Node.js 24.15 or newer, but this is Node.js ${process.versions.node}\n`,
  );
  process.exit(1);
}
// Caching compiled code makes each command start faster; the folder is writable only by its owner.
nodeModule.enableCompileCache(join(homedir(), ".hearth", "cache"));
const source = new URL("../src/main.ts", import.meta.url);
await import(existsSync(source) ? source.href : new URL("../dist/main.js", import.meta.url).href);
