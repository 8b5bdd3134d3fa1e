import type { CheckCase } from "./check-case.ts";

export const moduleNotes: CheckCase = {
  broken: {
    "apps/keep/src/main.ts": `
/** @module Too short to promise anything. */
export const main = 1;
`,
    "packages/logging/src/index.ts": "export const line = 1;",
    "packages/logging/src/inner/one.ts": `
/**
 * @module
 * Keeps the log.
 * Promises one line per event. Anyone may import it.
 */
export const one = 1;
`,
    "packages/logging/src/inner/two.ts": `
/**
 * @module
 * Keeps the log.
 * Promises one line per event. Anyone may import it.
 */
export const two = 2;
`,
    "scripts/long.ts": `
/**
 * @module
 * More words.
 * More words.
 * More words.
 * More words.
 * More words.
 * More words.
 * More words.
 * More words.
 * More words.
 * More words.
 */
export const long = 1;
`,
    "claims/late.ts": `
import { long } from "../scripts/long.ts";

/**
 * @module
 * Keeps the log.
 * Promises one line per event. Anyone may import it.
 */
export const late = long;
`,
  },
  valid: {
    "packages/logging/src/index.ts": `
/**
 * @module
 * Keeps the log.
 * Promises one line per event. Anyone may import it.
 */
export const line = 1;
`,
    "packages/logging/src/tests-only/a.test.ts": "export const tested = 1;",
    "packages/logging/src/write.test.ts": "export const tested = 1;",
    "packages/logging/src/write.ts": `
/** Not the note of the folder. */
export const write = 1;
`,
    "scripts/start.ts": `
#!/usr/bin/env node
/**
 * @module
 * Keeps the log.
 * Promises one line per event. Anyone may import it.
 */
export const start = 1;
`,
    "claims/table.ts": `
/**
 * @module
 * More words.
 * More words.
 * More words.
 * More words.
 * More words.
 * More words.
 * More words.
 * More words.
 * More words.
 */
export const table = 1;
`,
  },
  expected: [
    "packages/logging/src/index.ts:1",
    "packages/logging/src/inner/two.ts:1",
    "apps/keep/src/main.ts:1",
    "scripts/long.ts:1",
    "claims/late.ts:1",
  ],
};
