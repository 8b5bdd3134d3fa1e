import { globSync } from "node:fs";
import { expect, test } from "vitest";
import { root } from "../run-to-end.ts";
import { unusedParts } from "./test-parts.ts";

const testFiles = globSync("packages/test-servers/src/**/*.test.ts", { cwd: root });

test("every part that tests can start is used by a test of its own", () => {
  expect(testFiles.length).toBeGreaterThan(10);
  expect(unusedParts(testFiles)).toEqual([]);
});

test("a part without tests is named", () => {
  expect(unusedParts(testFiles.filter((file) => !file.includes("/browser/")))).toEqual(["startBrowser"]);
});
