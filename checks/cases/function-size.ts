import type { CheckCase } from "./check-case.ts";

export const functionSize: CheckCase = {
  broken: {
    "packages/logging/src/write.test.ts": `
import { test } from "vitest";

test("a test is a function too", () => {
{lines:60}
});
`,
    "packages/logging/src/write.ts": `
export function write(): void {
{lines:59}
}
`,
  },
  valid: {
    "packages/logging/src/write.test.ts": `
import { describe } from "vitest";

describe("a group may be long", () => {
{lines:60}
});

describe.each([1])("and so may a repeated one", () => {
{lines:60}
});
`,
    "packages/logging/src/write.ts": `
export function write(): void {
{lines:58}
}
`,
  },
  expected: ["packages/logging/src/write.ts:1", "packages/logging/src/write.test.ts:3"],
};
