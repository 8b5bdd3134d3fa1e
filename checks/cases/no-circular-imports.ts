import type { CheckCase } from "./check-case.ts";

export const noCircularImports: CheckCase = {
  shared: {
    "packages/logging/src/hidden.ts": `
import type { Line } from "./level.ts";

export const hide = (text: Line): string => text;
`,
    "packages/logging/src/line.ts": `
import { hide } from "./hidden.ts";

export const line = (text: string): string => hide(text);
`,
  },
  broken: {
    "packages/logging/src/level.ts": `
import { line } from "./line.ts";

export type Line = ReturnType<typeof line>;
`,
  },
  valid: {
    "packages/logging/src/level.ts": "export type Line = string;",
  },
  expected: ["packages/logging/src/hidden.ts:1"],
};
