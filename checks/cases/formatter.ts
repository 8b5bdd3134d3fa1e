import type { CheckCase } from "./check-case.ts";

export const formatter: CheckCase = {
  broken: {
    "packages/logging/src/write.ts":
      "export function write(line: string): void { process.stdout.write(line) }",
  },
  valid: {
    "packages/logging/src/write.ts": `
export function write(line: string): void {
  process.stdout.write(line);
}
`,
  },
  expected: ["packages/logging/src/write.ts:1"],
};
