import { execFile } from "node:child_process";
import { randomUUID } from "node:crypto";
import { copyFile, mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { chooseSize, recordFigure } from "@hearth-and-keep/figures";
import { childEnvironment, makeTemporaryFolder, preparePython } from "@hearth-and-keep/test-servers";
import { afterAll, beforeAll, expect, test } from "vitest";
import {
  startWorkloadKeep,
  type WorkloadKeep,
} from "../../apps/keep/src/workload/test/start-workload-keep.ts";
import { findNodeVersions, findPythonVersions, type Runtime } from "./runtimes.ts";
import { startRelay } from "./start-relay.ts";

const run = promisify(execFile);
const sdks = join(import.meta.dirname, "..");
const fixtures = join(import.meta.dirname, "fixtures");
const tsc = join(sdks, "../node_modules/.bin/tsc");

let workload: WorkloadKeep;
beforeAll(async () => {
  workload = await startWorkloadKeep();
});
afterAll(() => workload[Symbol.asyncDispose]());

/** What the programs of both languages print: the same, because both SDKs do the same. */
const expected = {
  get: ["/app/A", 1, "text", "canary-a é"],
  many: ["A=canary-a é", "C=canary-c", "F=0,255", "URL=https://canary-c/", "sub/S=canary-s"],
  names: ["A"],
  raw: "https://${./C}/",
  binary: "KeepError not_text",
  missing: ["NotFoundError not_found", "NotFoundError not_found", "NotFoundError not_found"],
  list: ["/app/A", "/app/C", "/app/F", "/app/URL", "/app/sub/S"],
  write: [
    1,
    2,
    "PreconditionFailedError precondition_failed",
    "PreconditionFailedError precondition_failed",
    "two",
    "binary",
  ],
  "lost response": [3, 2],
  withSecrets: ["canary-a é", "KeepError cleared"],
  hidden: 0,
  cache: [200, 200],
  "cache after a write": ["changed", [200, 200]],
  unchanged: [200, 304],
  stale: "canary-a é",
  "not stale": "UnavailableError relay",
  refused: ["AccessDeniedError relay", "UnavailableError relay"],
  retries: ["canary-a é", true, 4],
  "long pause": ["UnavailableError relay", [429]],
  "no retry": ["UnavailableError relay", [500]],
  broken: [
    "ConnectionError unexpected_response",
    "ConnectionError unexpected_response",
    "ConnectionError unexpected_response",
    "ConnectionError unreachable",
    "ConnectionError timed_out",
  ],
  "wrong token": "AccessDeniedError unauthenticated",
  fields: ["value"],
  "rejected field": "RequestError validation_failed",
  configuration: Array.from({ length: 7 }, () => "ConfigurationError invalid_configuration"),
  traversal: "ConfigurationError invalid_configuration",
  github: ["canary-a é", "canary-a é", "canary-a é"],
  // Three reads with one exchange.
  "one exchange": 4,
  "again after 401": ["canary-a é", [401, 200, 200]],
  revoked: [204],
  "exchange not repeated": ["UnavailableError relay", [503]],
  renewed: [[200, 200, 200, 200]],
  file: ["canary-a é", "ConfigurationError invalid_configuration"],
};

/** Runs a program against a vault of its own. */
async function runFlow({ program }: Runtime, args: readonly string[], environment: object): Promise<unknown> {
  const { keep } = workload;
  const own = await workload.addOwner();
  const { text: token } = await keep.addToken(own, {
    scopes: ["secrets:read", "secrets:list", "secrets:write"],
  });
  const write = (path: string, body: object) =>
    keep.request(`/api/secrets/vaults/${own.vaultId}/secrets/by-path${path}`, { method: "PUT", token, body });
  await write("/app/A", { value: "canary-a é" });
  await write("/app/C", { value: "canary-c" });
  await write("/app/F", { value: "AP8=", encoding: "base64", type: "file" });
  await write("/app/URL", { value: "https://${./C}/" });
  await write("/app/sub/S", { value: "canary-s" });
  await workload.createRule(own, "github", { scopes: ["secrets:read"], vault_ids: [own.vaultId] });
  const mintToken = (audience: string) => workload.sign(workload.claimsOf("github", { aud: audience }));
  const requestToken = randomUUID();
  await using relay = await startRelay({ target: keep.url, mintToken, requestToken });
  await using folder = await makeTemporaryFolder("sdk-flow");
  const identityFile = join(folder.path, "identity");
  await writeFile(identityFile, `${mintToken(own.audience)}\n`);
  const env = {
    ...childEnvironment(),
    ...environment,
    KEEP_SERVER: relay.url,
    KEEP_TOKEN: token,
    KEEP_VAULT: own.vaultId,
    AUDIENCE: own.audience,
    ACTIONS_ID_TOKEN_REQUEST_URL: `${relay.url}/identity?api-version=2.0`,
    ACTIONS_ID_TOKEN_REQUEST_TOKEN: requestToken,
    IDENTITY_FILE: identityFile,
  };
  const { stdout } = await run(program, [...args], { env, timeout: 100_000 });
  expect(relay.redirected).toEqual([]);
  return JSON.parse(stdout);
}

type Program = {
  readonly args: readonly string[];
  readonly environment?: Readonly<Record<string, string>>;
  /** How many versions a full run has at least. */
  readonly needed: number;
};

async function checkFlows(runtimes: readonly Runtime[], { args, environment = {}, needed }: Program) {
  const printed = await Promise.all(runtimes.map((runtime) => runFlow(runtime, args, environment)));
  for (const [index, results] of printed.entries())
    expect({ runtime: runtimes[index]?.name, results }).toEqual({
      runtime: runtimes[index]?.name,
      results: expected,
    });
  const steps = Object.keys(expected).length;
  recordFigure({
    claim: "client 10",
    text: `${runtimes.map(({ name }) => name).join(", ")}: ${steps} of ${steps} steps`,
    counted: { reached: runtimes.length, needed },
  });
}

test("the package for TypeScript compiles in a strict program and does what is documented on every Node", async () => {
  await using folder = await makeTemporaryFolder("sdk-typescript");
  const installed = join(folder.path, "node_modules/@hearth-and-keep/keep-sdk");
  await mkdir(installed, { recursive: true });
  await run(tsc, ["--project", join(sdks, "typescript"), "--outDir", join(installed, "dist")]);
  await copyFile(join(sdks, "typescript/package.json"), join(installed, "package.json"));
  await writeFile(join(folder.path, "package.json"), '{"type":"module"}');
  const flow = join(folder.path, "flow.ts");
  await copyFile(join(fixtures, "flow.ts.txt"), flow);
  const strict = ["--strict", "--noUncheckedIndexedAccess", "--exactOptionalPropertyTypes"];
  const nodeTypes = ["--types", "node", "--typeRoots", join(sdks, "../node_modules/@types")];
  const target = ["--target", "es2022", "--module", "nodenext"];
  await run(tsc, [...strict, ...nodeTypes, ...target, flow], { cwd: folder.path });
  const needed = chooseSize({ ci: 1, show: 3, nightly: 3 });
  const runtimes = await findNodeVersions();
  expect(runtimes.length).toBeGreaterThan(0);
  await checkFlows(runtimes, { args: [join(folder.path, "flow.js")], needed });
});

test("the package for Python does what is documented on every Python", async () => {
  const environment = { PYTHONPATH: join(sdks, "python/src"), PYTHONDONTWRITEBYTECODE: "1" };
  const runtimes = await findPythonVersions();
  expect(runtimes.length).toBeGreaterThan(0);
  await checkFlows(runtimes, { args: [join(fixtures, "flow.py")], environment, needed: 1 });
});

/** In CI, nothing is downloaded for it. */
const pythonTargets = chooseSize({ ci: [], show: ["3.10"], nightly: ["3.10"] });

test.each(pythonTargets)(
  "the package for Python and its program are strictly typed for Python %s",
  async (version) => {
    const { interpreter } = await preparePython({ requirements: join(sdks, "../scripts/python/mypy.txt") });
    await using cache = await makeTemporaryFolder("mypy");
    const args = ["-m", "mypy", "--strict", "--python-version", version, "--cache-dir", cache.path];
    const files = [join(sdks, "python/src/keep_sdk"), join(fixtures, "flow.py")];
    const env = { ...childEnvironment(), MYPYPATH: join(sdks, "python/src") };
    expect((await run(interpreter, [...args, ...files], { env })).stdout).toContain("Success");
  },
);
