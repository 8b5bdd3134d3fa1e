import type { CheckCase } from "./check-case.ts";

export const unusedDependencies: CheckCase = {
  shared: {
    "apps/hearth/bin/hearth.js": 'await import("../src/main.ts");',
    "apps/hearth/src/main.ts": `
import { line } from "@hearth-and-keep/logging";
import { start } from "./server.ts";

start(line);
`,
    "apps/hearth/src/server.ts": `
export function start(line: number): number {
  return line;
}
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
    "packages/logging/src/index.ts": `
import { value } from "driver";

export const line = value;
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
    "apps/hearth/package.json": `
{
  "name": "@hearth-and-keep/hearth",
  "type": "module",
  "bin": {
    "hearth": "bin/hearth.js"
  },
  "dependencies": {
    "driver": "1.0.0",
    "unwanted": "1.0.0"
  },
  "devDependencies": {
    "@hearth-and-keep/logging": "0.0.0"
  }
}
`,
    "installed/unneeded/index.js": "export const value = 1;",
    "installed/unneeded/package.json": `
{
  "name": "unneeded",
  "version": "1.0.0",
  "type": "module",
  "exports": "./index.js"
}
`,
    "installed/unwanted/index.js": "export const value = 1;",
    "installed/unwanted/package.json": `
{
  "name": "unwanted",
  "version": "1.0.0",
  "type": "module",
  "exports": "./index.js"
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
  },
  "devDependencies": {
    "unneeded": "1.0.0"
  }
}
`,
  },
  valid: {
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
  },
  expected: ["apps/hearth/package.json:9", "packages/logging/package.json:11"],
};
