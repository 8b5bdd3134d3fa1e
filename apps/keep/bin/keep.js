#!/usr/bin/env node
// Runs the TypeScript sources in a clone and the bundle in an installed package. Old Node versions must be able to load
// this file to print the version check, so it uses only exports that they have.
import { existsSync } from "node:fs";
import { setFlagsFromString } from "node:v8";

const [major, minor] = process.versions.node.split(".").map(Number);
if (major < 24 || (major === 24 && minor < 15)) {
  process.stderr.write(
    `Keep requires Node.js 24.15 or newer, but this is Node.js ${process.versions.node}\n`,
  );
  process.exit(1);
}
// What the start allocates is garbage soon. If the young generation grew for it, an idle server would keep 14 MB of empty
// memory; `keep serve` lets it grow once there are requests.
setFlagsFromString("--semi-space-growth-factor=1");
const source = new URL("../src/main.ts", import.meta.url);
await import(existsSync(source) ? source.href : new URL("../dist/main.js", import.meta.url).href);
