import type { CheckCase } from "./check-case.ts";

export const types: CheckCase = {
  broken: {
    "packages/logging/src/write.ts": `
export enum Level {
  Low,
}

export function first(lines: readonly string[]): string {
  return lines[0];
}

export const address: { port?: number } = { port: undefined };
`,
  },
  valid: {
    "packages/logging/src/write.ts": `
export type Level = "low";

export function first(lines: readonly string[]): string {
  return lines[0] ?? "";
}

export const address: { port?: number } = {};
`,
  },
  expected: [
    "packages/logging/src/write.ts:1",
    "packages/logging/src/write.ts:6",
    "packages/logging/src/write.ts:9",
  ],
};
