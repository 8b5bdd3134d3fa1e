import type { CheckCase } from "./check-case.ts";
import { workspaceTree } from "./workspace-tree.ts";

export const unusedExports: CheckCase = {
  broken: {
    ...workspaceTree,
    "apps/hearth/src/server.ts": `
export function start(line: number): number {
  return line;
}

export const unused = 1;
export type Unused = number;
`,
  },
  valid: workspaceTree,
  expected: ["apps/hearth/src/server.ts:5", "apps/hearth/src/server.ts:6"],
};
