import type { CheckCase } from "./check-case.ts";

export const unlistedDependencies: CheckCase = {
  shared: {
    "apps/hearth/bin/hearth.js": 'await import("../src/main.ts");',
    "apps/hearth/package.json": `
{
  "name": "@hearth-and-keep/hearth",
  "type": "module",
  "bin": {
    "hearth": "bin/hearth.js"
  },
  "dependencies": {
    "driver": "1.0.0"
  },
  "devDependencies": {
    "@hearth-and-keep/logging": "0.0.0"
  }
}
`,
    "apps/hearth/src/main.ts": `
import { line } from "@hearth-and-keep/logging";
import { start } from "./server.ts";

start(line);
`,
    "installed/driver/index.js": "export const value = 1;",
    "installed/driver/package.json": `
{
  "name": "driver",
  "version": "1.0.0",
  "type": "module",
  "exports": "./index.js"
}
`,
    "package.json": `
{
  "name": "hearth-and-keep",
  "private": true,
  "type": "module",
  "workspaces": [
    "apps/*",
    "packages/*"
  ]
}
`,
    "packages/logging/package.json": `
{
  "name": "@hearth-and-keep/logging",
  "type": "module",
  "exports": {
    ".": "./src/index.ts"
  },
  "dependencies": {
    "driver": "1.0.0"
  }
}
`,
    "scripts/check.ts": `
import { line } from "@hearth-and-keep/logging";

export const checked = line;
`,
    "tsconfig.json": `
{
  "compilerOptions": {
    "module": "nodenext",
    "noEmit": true,
    "allowImportingTsExtensions": true
  }
}
`,
  },
  broken: {
    "apps/hearth/src/server.ts": `
import { value } from "borrowed";

export function start(line: number): number {
  return line + value;
}
`,
    "installed/borrowed/index.js": "export const value = 1;",
    "installed/borrowed/package.json": `
{
  "name": "borrowed",
  "version": "1.0.0",
  "type": "module",
  "exports": "./index.js"
}
`,
    "packages/logging/src/index.ts": `
import { gone } from "./gone.ts";
import { value } from "driver";

export const line = value + gone;
`,
  },
  valid: {
    "apps/hearth/src/server.ts": `
export function start(line: number): number {
  return line;
}
`,
    "packages/logging/src/index.ts": `
import { value } from "driver";

export const line = value;
`,
  },
  expected: ["apps/hearth/src/server.ts:1", "packages/logging/src/index.ts:1"],
};
