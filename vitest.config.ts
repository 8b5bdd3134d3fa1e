import { join } from "node:path";
import { defineConfig } from "vitest/config";

const everywhere = "{apps,packages,scripts,checks,conformance,claims,sdks,integrations}";
/** What tests with a Keep of their own import: most of it. */
const keepFiles = "{apps/keep,sdks,integrations}/**";
const excluded = ["**/node_modules/**", "**/fixtures/**", "**/dist/**"];
/** What the name of a test file says it needs. */
const lanes = ["integration", "browser", "model", "bench", "baseline"] as const;

/** PostgreSQL and prepared models are shared by all files of a project, and the pages of both programs are built once. */
const globalSetup = [
  "packages/test-servers/src/run-cache.ts",
  "packages/test-servers/src/postgres/global-setup.ts",
  "scripts/build-pages.ts",
];

const robustness = "conformance/robustness/*.model.test.ts";
/** A test that never ends must not take the memory of the machine. */
const sharedProcess = { isolate: false, execArgv: ["--max-old-space-size=2048"] };

/**
 * With `isolate: false`, files of one worker share a process, with its modules loaded and its functions compiled: without it,
 * unit tests take twice the processor time, integration tests of Keep 1.7 times, and tests with real models 1.5 times. The
 * other integration tests keep their own process, because they replace what modules share, or analyse the whole tree and
 * leave gigabytes behind, and so do tests of robustness, which measure the memory of their process.
 */
export default defineConfig({
  test: {
    maxWorkers: 2,
    projects: [
      project("unit", {
        include: [`${everywhere}/**/*.test.ts`],
        exclude: [...excluded, ...lanes.map((lane) => `**/*.${lane}.test.ts`)],
        setupFiles: ["scripts/vitest/unit-setup.ts"],
        isolate: false,
      }),
      project("integration", {
        include: [`${everywhere}/**/*.integration.test.ts`],
        exclude: [...excluded, keepFiles],
        globalSetup,
      }),
      project("integration-keep", {
        include: [`${keepFiles}/*.integration.test.ts`],
        globalSetup,
        ...sharedProcess,
      }),
      project("browser", { include: [`${everywhere}/**/*.browser.test.ts`], globalSetup }),
      project("real-model", {
        include: [`${everywhere}/**/*.model.test.ts`],
        exclude: [...excluded, robustness],
        globalSetup,
        ...sharedProcess,
      }),
      project("real-model-robustness", { include: [robustness], globalSetup }),
      // One after another: two benchmarks at once would measure each other.
      project("bench", {
        include: ["{bench,apps}/**/*.bench.test.ts"],
        globalSetup,
        fileParallelism: false,
      }),
      // Benchmarks against a checkout of an earlier version, which CI does not have.
      project("baseline", {
        include: ["bench/**/*.baseline.test.ts"],
        globalSetup,
        fileParallelism: false,
      }),
    ],
  },
});

function project(name: string, test: object) {
  return {
    test: {
      name,
      exclude: excluded,
      // Far above what a test takes, because other work on the machine can slow it down several times.
      testTimeout: 180_000,
      hookTimeout: 120_000,
      // A condition that is polled usually holds within milliseconds; a loaded machine may need much longer.
      expect: { poll: { timeout: 30_000 } },
      env: {
        // Servers under test answer the same prompt with the same text.
        HEARTH_SEED: "1",
        // Our programs start in half the time, and npm leaves no cache in the temporary folder.
        NODE_COMPILE_CACHE: join(import.meta.dirname, "node_modules/.cache/compiled"),
      },
      ...test,
    },
  };
}
