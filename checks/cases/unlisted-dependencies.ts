import type { CheckCase } from "./check-case.ts";
import { installedManifest, workspaceTree } from "./workspace-tree.ts";

export const unlistedDependencies: CheckCase = {
  broken: {
    ...workspaceTree,
    "apps/hearth/src/server.ts": `
import { value } from "borrowed";

export function start(line: number): number {
  return line + value;
}
`,
    "installed/borrowed/index.js": "export const value = 1;",
    "installed/borrowed/package.json": installedManifest("borrowed"),
    "packages/logging/src/index.ts": `
import { gone } from "./gone.ts";
import { value } from "driver";

export const line = value + gone;
`,
  },
  valid: workspaceTree,
  expected: ["apps/hearth/src/server.ts:1", "packages/logging/src/index.ts:1"],
};
