import { defineConfig } from "vitest/config";

export default defineConfig({
  test: {
    include: ["{apps,packages,bench,checks,conformance,claims,scripts}/**/*.test.ts"],
    exclude: ["**/node_modules/**", "**/fixtures/**", "**/dist/**"],
    testTimeout: 60_000,
    hookTimeout: 120_000,
    // What is looked for again and again is there in milliseconds; a second is short on a machine with much to do.
    expect: { poll: { timeout: 10_000 } },
    maxWorkers: 2,
    globalSetup: ["packages/test-servers/src/postgres/global-setup.ts", "scripts/console-setup.ts"],
  },
});
