import { execFile } from "node:child_process";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { chooseSize, recordFigure, scale } from "@hearth-and-keep/figures";
import { makeTemporaryFolder, preparePython } from "@hearth-and-keep/test-servers";
import { expect, test } from "vitest";
import { addSession, createTestAccount, type TestAccount } from "../access/test/fixture.ts";
import { routes } from "../routes.ts";
import { startTestKeep, type TestKeep } from "../test/start-test-keep.ts";

const minCases = chooseSize({ ci: 200, show: 5000, nightly: 200_000 });
/** Much longer than on an idle machine. */
const maxMilliseconds = scale === "nightly" ? 14_400_000 : 840_000;
const hooks = fileURLToPath(new URL("fixtures/", import.meta.url));
/** Random cases per operation, in addition to those derived from the schema's boundaries. */
const perOperation = Math.ceil((minCases * (scale === "nightly" ? 1 : 0.75)) / routes.length);
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

async function runSchemathesis(
  keep: TestKeep,
  account: TestAccount,
): Promise<{ report: Report; output: string }> {
  const { interpreter } = await preparePython();
  await using folder = await makeTemporaryFolder("schemathesis");
  const reportPath = join(folder.path, "report.json");
  const session = await addSession(keep, account.person, "1 minute");
  const { vault, secret, token, operation } = account.objects;
  const existing = {
    vault: [vault, account.person.vaultId],
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
  const args = [
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
    TOKEN: account.admin,
  };
  const output = await new Promise<string>((resolve) => {
    const limits = {
      timeout: maxMilliseconds,
      killSignal: "SIGKILL",
      maxBuffer: 256 * 1024 * 1024,
    } as const;
    const options = { cwd: folder.path, env: environment, ...limits };
    execFile(interpreter, args, options, (_error, stdout, stderr) => resolve(stdout + stderr));
  });
  // The report format of the pinned version.
  const report = JSON.parse(await readFile(reportPath, "utf8").catch(() => "{}")) as Report;
  return { report, output };
}

test("all generated requests get responses that match the OpenAPI document, and none a server error", {
  timeout: maxMilliseconds + 60_000,
}, async () => {
  const settings = { readsPerMinute: "1000000", writesPerMinute: "1000000", trustedProxies: "127.0.0.1" };
  await using keep = await startTestKeep({ settings });
  const account = await createTestAccount(keep);
  const { report, output } = await runSchemathesis(keep, account);
  const summary = [
    output.slice(output.indexOf("= FAILURES =")).slice(0, 12_000),
    listServerErrors(keep),
  ].join("\n");
  expect(report.failures, summary).toEqual([]);
  expect([report.exit_code, report.test_cases.errored, report.operations.tested], summary).toEqual([
    0,
    0,
    // All but GET /openapi.json, from which it reads the document.
    routes.length - 1,
  ]);
  const { generated } = report.test_cases;
  recordFigure({
    claim: "keep 14",
    text: `${generated} of ${minCases} cases over ${report.operations.tested} operations: no 5xx and no response that the document does not describe`,
    counted: { reached: generated, needed: minCases },
  });
  expect(generated).toBeGreaterThanOrEqual(minCases);
});

function listServerErrors({ logLines }: TestKeep): string {
  return logLines
    .filter((line) => line.includes('"level":"error"'))
    .slice(0, 20)
    .join("");
}
