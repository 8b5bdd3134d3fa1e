import { globSync } from "node:fs";
import { expect, test } from "vitest";
import { root } from "../run-to-end.ts";
import { unusedTestServers } from "./test-servers.ts";

const testFiles = globSync("packages/test-servers/src/**/*.test.ts", { cwd: root });

test("every test server is used by its own tests", () => {
  expect(testFiles.length).toBeGreaterThan(10);
  expect(unusedTestServers(testFiles)).toEqual([]);
});

test("a test server without tests is reported by name", () => {
  expect(unusedTestServers(testFiles.filter((file) => !file.includes("/browser/")))).toEqual([
    "startBrowser",
  ]);
});
