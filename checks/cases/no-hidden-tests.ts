import type { CheckCase } from "./check-case.ts";

export const noHiddenTests: CheckCase = {
  broken: {
    "packages/logging/src/write.test.ts": `
import { describe, it, test } from "vitest";

test.skip("is not run", () => {});
describe.only("silences others", () => {
  it.todo("will be written");
});
test.skipIf(true)("is not run here", () => {});
test.skip.each([1])("is not run for %d", () => {});
test("is not run either", { skip: true }, () => {});
test("is skipped while running", (context) => {
  context.skip();
});
describe.concurrent.skip("are not run", () => {});
`,
  },
  valid: {
    "packages/logging/src/page.ts": `
export const test = { skip: (count: number): number => count };

test.skip(2);
`,
    "packages/logging/src/write.test.ts": `
import { test } from "vitest";

// The measurement needs a GPU, which CI machines do not have.
test.skipIf(true)("is fast on a GPU", () => {});
test("runs", { timeout: 5 }, () => {
  const iterator = [1, 2].values();
  iterator.drop(1);
  const query = { skip: (count: number): number => count };
  query.skip(1);
  [query][0]?.skip(2);
});
`,
  },
  expected: [
    "packages/logging/src/write.test.ts:3",
    "packages/logging/src/write.test.ts:4",
    "packages/logging/src/write.test.ts:5",
    "packages/logging/src/write.test.ts:7",
    "packages/logging/src/write.test.ts:8",
    "packages/logging/src/write.test.ts:9",
    "packages/logging/src/write.test.ts:11",
    "packages/logging/src/write.test.ts:13",
  ],
};
