import type { CheckCase } from "./check-case.ts";

export const fileNames: CheckCase = {
  broken: {
    "apps/keep/src/core/open.ts": "export const a = 1;",
    "docs/misc/notes.md": "# Notes",
    "packages/logging/src/types.test.ts": "export const a = 1;",
    "packages/logging/src/utils.ts": "export const a = 1;",
  },
  valid: {
    "docs/ARCHITECTURE.md": "# Architecture",
    "packages/logging/src/base-address.test.ts": "export const a = 1;",
    "packages/logging/src/fixtures/lib/odd.ts": "export const a = 1;",
    "packages/logging/src/log-line.ts": "export const a = 1;",
    "tsconfig.base.json": "{}",
    "vitest.config.ts": "export default {};",
  },
  expected: [
    "packages/logging/src/utils.ts:1",
    "packages/logging/src/types.test.ts:1",
    "apps/keep/src/core/open.ts:1",
    "docs/misc/notes.md:1",
  ],
};
