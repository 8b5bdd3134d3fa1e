import type { CheckCase } from "./check-case.ts";
import { installedManifest, workspaceTree } from "./workspace-tree.ts";

export const unusedDependencies: CheckCase = {
  broken: {
    ...workspaceTree,
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
    "installed/unneeded/package.json": installedManifest("unneeded"),
    "installed/unwanted/index.js": "export const value = 1;",
    "installed/unwanted/package.json": installedManifest("unwanted"),
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
  valid: workspaceTree,
  expected: ["apps/hearth/package.json:9", "packages/logging/package.json:11"],
};
