import type { Tree } from "./check-case.ts";

/** An app and a package that it uses, with nothing unused, unlisted or missing. The cases about unused code change parts of it. */
export const workspaceTree: Tree = {
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
  "apps/hearth/src/server.ts": `
export function start(line: number): number {
  return line;
}
`,
  "installed/driver/index.js": "export const value = 1;",
  "installed/driver/package.json": installedManifest("driver"),
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
};

/** The package.json of an installed package. */
export function installedManifest(name: string): string {
  return `
{
  "name": "${name}",
  "version": "1.0.0",
  "type": "module",
  "exports": "./index.js"
}
`;
}
