import { execFile } from "node:child_process";
import { randomUUID } from "node:crypto";
import { join } from "node:path";
import { promisify } from "node:util";
import { recordFigure } from "@hearth-and-keep/figures";
import { makeTemporaryFolder, type TemporaryFolder } from "@hearth-and-keep/test-servers";
import { afterAll, beforeAll, expect, test } from "vitest";
import {
  type Owner,
  startWorkloadKeep,
  type WorkloadKeep,
} from "../../../apps/keep/src/workload/test/start-workload-keep.ts";
import { type Relay, startRelay } from "../../../sdks/test/start-relay.ts";
import { runStep, type StepResult } from "./github-runner.ts";

const build = join(import.meta.dirname, "../../../scripts/build-github-action.ts");
const requestToken = randomUUID();

/** Values that would end an entry, start a command, or escape a mask, if they were written as they are. */
const values = {
  PASSWORD: "canary-plain",
  PERCENT: "canary%0A100%25",
  KEY: "-----BEGIN KEY-----\ncanary-first\r\n  canary-second\n-----END KEY-----\n",
  JSON_KEY: '{\n  "key": "canary-json"\n}',
  BREAKOUT: "canary-x\nEOF\nkeep_\nINJECTED<<EOF\ncanary-y\nEOF\nINJECTED=canary-z",
  COMMANDS: "canary-c\n::stop-commands::canary-stop\n::set-output name=x::canary-o\r::error::canary-e",
  EMPTY: "",
  SPACES: "  canary-spaces  ",
} as const;

let action: TemporaryFolder;
let workload: WorkloadKeep;
let relay: Relay;
let owner: Owner;

beforeAll(async () => {
  action = await makeTemporaryFolder("github-action");
  await promisify(execFile)(process.execPath, [build, action.path]);
  workload = await startWorkloadKeep();
  const { keep } = workload;
  ({ owner } = workload);
  const mintToken = (audience: string) => workload.sign(workload.claimsOf("github", { aud: audience }));
  relay = await startRelay({ target: keep.url, mintToken, requestToken });
  await workload.createRule(owner, "github", { scopes: ["secrets:read"], vault_ids: [owner.vaultId] });
  const { text: token } = await keep.addToken(owner, { scopes: ["secrets:write"] });
  const write = async (path: string, body: object) => {
    const address = `/api/secrets/vaults/${owner.vaultId}/secrets/by-path/${path}`;
    expect((await keep.request(address, { method: "PUT", token, body })).status).toBe(201);
  };
  for (const [name, value] of Object.entries(values)) await write(`prod/${name}`, { value });
  await write("prod/GITHUB_TOKEN", { value: "canary-github" });
  await write("prod/not-a-variable", { value: "canary-name" });
  await write("prod/FILE", { value: "AP8=", encoding: "base64", type: "file" });
});
afterAll(async () => {
  await relay[Symbol.asyncDispose]();
  await workload[Symbol.asyncDispose]();
  await action[Symbol.asyncDispose]();
});

function runMain(inputs: Readonly<Record<string, string>> = {}): Promise<StepResult> {
  const common = { server: relay.url, vault: owner.vaultId, audience: owner.audience, folder: "/prod" };
  const identity = { url: `${relay.url}/identity?api-version=2.0`, requestToken };
  return runStep({ action: action.path, program: "main.mjs", inputs: { ...common, ...inputs }, identity });
}

async function statusOf(token = ""): Promise<number> {
  return (await workload.keep.request("/api/secrets/tokens/self", { token })).status;
}

test("a job gets its secrets unchanged, every line of them is masked, and the token ends with the step", async () => {
  const step = await runMain();
  expect([step.code, step.errors]).toEqual([0, []]);
  expect(Object.fromEntries(step.env)).toEqual(values);
  expect(step.outputs.size).toBe(0);
  const lines = Object.values(values).flatMap((value) =>
    value.split(/\r\n|\r|\n/u).map((line) => line.trim()),
  );
  const secretLines = lines.filter((line) => line.includes("canary"));
  expect(step.masks).toEqual(expect.arrayContaining(secretLines));
  expect(step.masks).toContain("canary-github");
  expect(step.masks.filter((mask) => ["{", "}", ""].includes(mask))).toEqual([]);
  expect(step.log).not.toMatch(/canary|sk-svc/u);
  expect(step.warnings).toEqual([expect.stringContaining("FILE, GITHUB_TOKEN, not-a-variable")]);
  expect(await statusOf(step.state.get("token"))).toBe(401);
  recordFigure({
    claim: "client 7",
    text: `GitHub Action: ${Object.keys(values).length} hostile values arrive unchanged, ${secretLines.length} lines masked`,
    counted: { reached: step.env.size, needed: Object.keys(values).length },
  });
});

test("chosen secrets become outputs with a prefix, and a missing or unusable name fails the job", async () => {
  const step = await runMain({ names: "PASSWORD, KEY", prefix: "TF_VAR_", export: "outputs" });
  expect(step.code).toBe(0);
  expect(step.env.size).toBe(0);
  expect(Object.fromEntries(step.outputs)).toEqual({
    TF_VAR_PASSWORD: values.PASSWORD,
    TF_VAR_KEY: values.KEY,
  });
  for (const [names, reason] of [
    ["PASSWORD,NONE", 'no secret "NONE"'],
    ["PASSWORD,FILE", "Not exported"],
  ] as const) {
    const failed = await runMain({ names });
    expect([failed.code, failed.env.size, failed.errors.length]).toEqual([1, 0, 1]);
    expect(failed.errors[0]).toContain(reason);
    expect(await statusOf(failed.state.get("token"))).toBe(401);
  }
});

test("a token that later steps get is revoked after the job", async () => {
  const step = await runMain({ export: "none", "export-token": "true" });
  const token = step.env.get("KEEP_TOKEN");
  expect([step.code, [...step.env.keys()]]).toEqual([0, ["KEEP_SERVER", "KEEP_VAULT", "KEEP_TOKEN"]]);
  expect(step.masks).toContain(token);
  expect(await statusOf(token)).toBe(200);
  const plan = {
    action: action.path,
    program: "post.mjs",
    inputs: {},
    identity: { url: "", requestToken: "" },
  } as const;
  expect(await runStep({ ...plan, state: step.state })).toMatchObject({ code: 0, warnings: [] });
  expect(await statusOf(token)).toBe(401);
  expect(await runStep({ ...plan, state: step.state })).toMatchObject({ code: 0, warnings: [] });
});

test("a job without the right identity gets nothing", async () => {
  const other = await workload.addOwner();
  const cases = [
    { inputs: { audience: other.audience }, error: "invalid_grant" },
    { inputs: { audience: "" }, error: "Input audience" },
    { inputs: { vault: other.vaultId }, error: "404 not_found" },
    { inputs: { server: "http://keep.example" }, error: "https" },
    { inputs: { export: "everything" }, error: "Input export" },
  ];
  for (const { inputs, error } of cases) {
    const step = await runMain(inputs);
    expect([step.code, step.env.size]).toEqual([1, 0]);
    expect(step.errors[0]).toContain(error);
  }
});
