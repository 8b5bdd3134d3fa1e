#!/usr/bin/env node
// Runs the sources inside a clone and the built program in an installed package; plain enough for any Node to read.
import { existsSync } from "node:fs";
import { enableCompileCache } from "node:module";
import { homedir } from "node:os";
import { join } from "node:path";

const [major, minor] = process.versions.node.split(".").map(Number);
if (major < 24 || (major === 24 && minor < 15)) {
  process.stderr.write(`Cannot start: Node 24.15 or newer is needed, this is ${process.versions.node}\n`);
  process.exit(1);
}
// A command is started more often than it is installed; what was compiled once is kept where only its owner writes.
enableCompileCache?.(join(homedir(), ".hearth", "cache"));
const source = new URL("../src/main.ts", import.meta.url);
await import(existsSync(source) ? source.href : new URL("../dist/main.js", import.meta.url).href);
