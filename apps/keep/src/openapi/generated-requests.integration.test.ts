import { execFile } from "node:child_process";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { chooseSize, recordFigure, scale } from "@hearth-and-keep/figures";
import { makeTemporaryFolder, preparePython } from "@hearth-and-keep/test-servers";
import { expect, test } from "vitest";
import { addSession, makeSide, type Side } from "../access/test/fixture.ts";
import { routes } from "../routes.ts";
import { startTestKeep, type TestKeep } from "../test/start-test-keep.ts";

const fewestCases = chooseSize({ ci: 1500, show: 5000, nightly: 200_000 });
/** Far more than it takes on a machine that does nothing else. */
const mostMilliseconds = scale === "nightly" ? 14_400_000 : 840_000;
const hooks = fileURLToPath(new URL("fixtures/", import.meta.url));
/** Beside those that its schema's edges ask for, so many are made up for each operation. */
const perOperation = Math.ceil((fewestCases * (scale === "nightly" ? 1 : 0.75)) / routes.length);
const checks = [
  "not_a_server_error",
  "status_code_conformance",
  "content_type_conformance",
  "response_headers_conformance",
  "response_schema_conformance",
];

type Report = {
  readonly exit_code: number;
  readonly stop_reason: string;
  readonly test_cases: {
    readonly generated: number;
    readonly with_failures: number;
    readonly errored: number;
  };
  readonly operations: { readonly total: number; readonly tested: number };
  readonly failures: readonly { readonly title: string; readonly operations: readonly string[] }[];
};

async function runSchemathesis(keep: TestKeep, side: Side): Promise<{ report: Report; printed: string }> {
  const { interpreter } = await preparePython();
  await using folder = await makeTemporaryFolder("schemathesis");
  const reportPath = join(folder.path, "report.json");
  const session = await addSession(keep, side.person, "1 minute");
  const { vault, secret, token, operation } = side.objects;
  const existing = {
    vault: [vault, side.person.vaultId],
    secret: [secret],
    version: ["1", "2"],
    token: [token],
    operation: [operation],
    path: ["app/key", "app/other", "new"],
  };
  const flags = {
    phases: "examples,coverage,fuzzing",
    checks: checks.join(","),
    "max-examples": String(perOperation),
    workers: "1",
    seed: "7",
    "generation-database": "none",
    "generation-with-security-parameters": "false",
    report: "json",
    "report-json-path": reportPath,
  };
  const words = [
    "-m",
    "schemathesis.cli",
    "--no-color",
    "run",
    `${keep.url}/openapi.json`,
    "--continue-on-failure",
    "--no-shrink",
    ...Object.entries(flags).flatMap(([name, value]) => [`--${name}`, value]),
  ];
  const environment = {
    PYTHONPATH: hooks,
    PYTHONUTF8: "1",
    PYTHONDONTWRITEBYTECODE: "1",
    SCHEMATHESIS_HOOKS: "schemathesis_hooks",
    EXISTING_OBJECTS: JSON.stringify(existing),
    SESSION_COOKIE: session.text,
    TOKEN: side.admin,
  };
  const printed = await new Promise<string>((resolve) => {
    const limits = {
      timeout: mostMilliseconds,
      killSignal: "SIGKILL",
      maxBuffer: 256 * 1024 * 1024,
    } as const;
    const options = { cwd: folder.path, env: environment, ...limits };
    execFile(interpreter, words, options, (_problem, stdout, stderr) => resolve(stdout + stderr));
  });
  // As the version that is pinned writes it.
  const report = JSON.parse(await readFile(reportPath, "utf8").catch(() => "{}")) as Report;
  return { report, printed };
}

test("requests made from the document are all answered as it says, and none with a fault of the server", {
  timeout: mostMilliseconds + 60_000,
}, async () => {
  const settings = { readsPerMinute: "1000000", writesPerMinute: "1000000", trustedProxies: "127.0.0.1" };
  await using keep = await startTestKeep({ settings });
  const side = await makeSide(keep);
  const { report, printed } = await runSchemathesis(keep, side);
  const summary = [printed.slice(printed.indexOf("= FAILURES =")).slice(0, 12_000), faultsOf(keep)].join(
    "\n",
  );
  expect(report.failures, summary).toEqual([]);
  expect([report.exit_code, report.test_cases.errored, report.operations.tested], summary).toEqual([
    0,
    0,
    // It reads the document, and does not ask for it again.
    routes.length - 1,
  ]);
  const { generated } = report.test_cases;
  recordFigure({
    claim: "keep 14",
    text: `${generated} of ${fewestCases} cases over ${report.operations.tested} operations: no 5xx, no answer that the document does not describe`,
    counted: { reached: generated, needed: fewestCases },
  });
  expect(generated).toBeGreaterThanOrEqual(fewestCases);
});

function faultsOf({ logLines }: TestKeep): string {
  return logLines
    .filter((line) => line.includes('"level":"error"'))
    .slice(0, 20)
    .join("");
}
