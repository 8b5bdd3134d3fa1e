import { globSync } from "node:fs";
import { expect, test } from "vitest";
import { root } from "../run-to-end.ts";
import { unusedTestServers } from "./test-servers.ts";

const testFiles = globSync("packages/test-servers/src/**/*.test.ts", { cwd: root });

test("every part that tests can start is used by a test of its own", () => {
  expect(testFiles.length).toBeGreaterThan(10);
  expect(unusedTestServers(testFiles)).toEqual([]);
});

test("a part without tests is named", () => {
  expect(unusedTestServers(testFiles.filter((file) => !file.includes("/browser/")))).toEqual([
    "startBrowser",
  ]);
});
