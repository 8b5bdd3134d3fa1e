import type { CheckCase } from "./check-case.ts";
import { workspaceTree } from "./workspace-tree.ts";

export const unusedFiles: CheckCase = {
  shared: workspaceTree,
  broken: {
    "apps/hearth/src/forgotten.ts": "export const forgotten = 1;",
    "checks/alone.ts": "export const alone = 1;",
    "packages/logging/src/old.ts": "export const old = 1;",
  },
  valid: {
    "apps/hearth/src/fixtures/recorded.ts": "export const recorded = 1;",
  },
  expected: ["apps/hearth/src/forgotten.ts:1", "packages/logging/src/old.ts:1", "checks/alone.ts:1"],
};
