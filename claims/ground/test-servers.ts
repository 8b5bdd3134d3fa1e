import { randomUUID } from "node:crypto";
import { chmod } from "node:fs/promises";
import * as testServers from "@hearth-and-keep/test-servers";
import type { Outcome } from "../line.ts";
import { evaluateRun, runTests } from "../prove-by-tests.ts";

/** Every start function for tests, and the folder of the tests that use it. */
const servers: readonly { readonly start: string; readonly tests: string }[] = [
  { start: "startPostgres", tests: "packages/test-servers/src/postgres/start-postgres" },
  { start: "startStandby", tests: "packages/test-servers/src/postgres/start-standby" },
  { start: "startGeneralIdentityProvider", tests: "packages/test-servers/src/identity/general/" },
  { start: "startHostileIdentityProvider", tests: "packages/test-servers/src/identity/hostile/" },
  { start: "startCodeHostingProvider", tests: "packages/test-servers/src/identity/code-hosting/" },
  { start: "startWorkloadIssuer", tests: "packages/test-servers/src/identity/start-workload-issuer" },
  { start: "startModelRegistry", tests: "packages/test-servers/src/registries/" },
  { start: "startModelHub", tests: "packages/test-servers/src/registries/hub/" },
  { start: "startFaultProxy", tests: "packages/test-servers/src/fault-proxy/" },
  { start: "startBrowser", tests: "packages/test-servers/src/browser/" },
  { start: "startLlamaServer", tests: "packages/test-servers/src/llama-server/" },
  { start: "preparePython", tests: "packages/test-servers/src/python/" },
  { start: "testModel", tests: "packages/test-servers/src/models/" },
];

/** Runs the tests of all test servers with their own run id and temporary folder, then searches for leftovers. */
export async function proveTestServers(): Promise<Outcome> {
  await using folder = await testServers.makeTemporaryFolder("test-servers");
  // PostgreSQL runs as another user, which needs access to folders below.
  await chmod(folder.path, 0o755);
  const runId = randomUUID();
  const run = await runTests(["packages/test-servers/"], { TMPDIR: folder.path, HEARTH_AND_KEEP_RUN: runId });
  const leftovers = testServers.findLeftovers({ runId, folders: [folder.path] });
  for (const leftover of leftovers) process.stdout.write(`${leftover}\n`);
  const unused = unusedTestServers(run.files);
  for (const name of unused) process.stdout.write(`${name} is used by no test\n`);
  const tests = evaluateRun(run, [
    { claim: "ground 4", text: `${servers.length - unused.length} of ${servers.length} test servers used` },
  ]);
  return {
    isProven: tests.isProven && unused.length === 0 && leftovers.length === 0,
    figure: `${tests.figure}; ${leftovers.length} leftovers`,
  };
}

/** Servers that no test in these files uses, including those that are exported but not in the table above. */
export function unusedTestServers(files: readonly string[]): readonly string[] {
  const exported = Object.keys(testServers).filter(
    (name) => /^start[A-Z]/.test(name) && name !== "startProcess",
  );
  const listed = new Map(servers.map(({ start, tests }) => [start, tests]));
  return [...new Set([...exported, ...listed.keys()])].filter((name) => {
    const tests = listed.get(name);
    return tests === undefined || !files.some((file) => file.includes(tests));
  });
}
