import { spawn } from "node:child_process";
import { once } from "node:events";
import { readdir, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { recordFigure } from "@hearth-and-keep/figures";
import { childEnvironment } from "@hearth-and-keep/test-servers";
import type { EgressRule } from "@hearth-and-keep/vault-contract";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type OpenedVault, openVault } from "../../test/open-vault.ts";
import { finish, type Machine, openMachine, type RunOptions } from "../test/machine.ts";
import { type FakeApis, startFakeApis } from "./test/fake-apis.ts";

/** With characters that differ in base64, URLs, JSON and HTML. */
const values = {
  GITHUB_TOKEN: "ghp_Canary/one+1Q9&zLmN4==",
  OPENAI_API_KEY: "sk-proj-Canary/two+7Yx8Wv==",
  STRIPE_KEY: "sk_test_Canary3Kp2Jh5Gf8Ds",
};
const neededAttempts = 40;
const root = fileURLToPath(new URL("../../../../..", import.meta.url));
const program = fileURLToPath(new URL("test/hostile-program.ts", import.meta.url));

let vault: OpenedVault;
let machine: Machine;
let apis: FakeApis;
let environment: Readonly<Record<string, string>>;

beforeAll(async () => {
  vault = await openVault();
  machine = await openMachine(vault);
  apis = await startFakeApis(values);
  const certificate = join(machine.home, "apis.pem");
  await writeFile(certificate, apis.certificate);
  await writeFile(join(machine.home, "token"), vault.token.text);
  environment = {
    KEEP_TOKEN: vault.token.text,
    KEEP_SERVER: vault.url,
    KEEP_VAULT: vault.person.vaultId,
    NODE_EXTRA_CA_CERTS: certificate,
  };
  for (const [name, value] of Object.entries(values)) await vault.write(`/app/${name}`, value);
  await vault.write("/app/WITHOUT_RULE", "no agent may use this");
  await setRule("OPENAI_API_KEY", { hosts: [apis.hosts.openai], ask: false });
  await setRule("STRIPE_KEY", { hosts: [apis.hosts.stripe], ask: false });
});
afterAll(async () => {
  await apis[Symbol.asyncDispose]();
  await machine[Symbol.asyncDispose]();
  await vault[Symbol.asyncDispose]();
});

const keep = (args: readonly string[], options: RunOptions = {}) =>
  machine.keep(args, { ...options, environment: { ...environment, ...options.environment } });

async function setRule(name: string, egress: EgressRule): Promise<void> {
  const [status] = await vault.json("PATCH", `/secrets/by-path/app/${name}`, { egress });
  expect(status).toBe(200);
}

function agentArgs(...command: readonly string[]): readonly string[] {
  const { unnamed: _unnamed, ...hosts } = apis.hosts;
  const options = ["--allow-host", hosts.open, "--private-host", Object.values(hosts).join()];
  const readable = ["--read", root, "--read", dirname(process.execPath)];
  return ["run", "--folder", "/app", "--agent", ...options, ...readable, "--", ...command];
}

type Printed = {
  readonly attempt?: string;
  readonly learned?: string;
  readonly call?: string;
  readonly result?: unknown;
};

/** As it is and in the forms that the attempts can decode. */
function findValues(text: string): readonly string[] {
  const decoded = (text.match(/[A-Za-z0-9+/=_-]{16,}/gu) ?? []).flatMap((word) =>
    [0, 1, 2, 3].map((start) => Buffer.from(word.slice(start), "base64").toString("latin1")),
  );
  const seen = [
    text,
    unescapeUrl(text),
    text.replaceAll("\\/", "/"),
    text.replaceAll("&amp;", "&"),
    ...decoded,
  ];
  return Object.values(values).filter((value) => {
    const hex = Buffer.from(value).toString("hex");
    const bare = value.replaceAll(/[^A-Za-z0-9_-]/gu, "").toLowerCase();
    return (
      seen.some((each) => each.includes(value)) || text.includes(hex) || text.toLowerCase().includes(bare)
    );
  });
}

function unescapeUrl(text: string): string {
  return text.replaceAll(/%([0-9A-Fa-f]{2})/gu, (_all, hex: string) =>
    String.fromCharCode(parseInt(hex, 16)),
  );
}

test("a hostile program gets no value, each use is recorded, and allowed calls work", async () => {
  const rule = ["--host", apis.hosts.github, "--method", "get", "--path", "/reflect/**", "--path", "/user"];
  const set = await keep(["egress", "GITHUB_TOKEN", "--folder", "/app", ...rule]);
  expect(set.stdout).toContain("Methods: GET\nPaths:   /reflect/**, /user");
  const targets = {
    hosts: apis.hosts,
    serverPort: Number(new URL(vault.url).port),
    files: [join(machine.home, "token"), join(machine.home, ".config/keep/logins.json")],
  };
  const { code, stdout, stderr } = await keep(agentArgs(process.execPath, program, JSON.stringify(targets)));
  expect([code, stderr]).toEqual([0, "Not passed, because no egress rule allows a use: WITHOUT_RULE\n"]);
  const printed = stdout
    .trim()
    .split("\n")
    // Each line was written by `hostile-program.ts`.
    .map((line) => JSON.parse(line) as Printed);
  const calls = Object.fromEntries(
    printed.flatMap(({ call, result }) => (call === undefined ? [] : [[call, result]])),
  );
  expect(calls).toEqual({
    github: { login: "octocat" },
    openai: ["Hello from the model", "Hello from the model"],
    stripe: { object: "list", data: [{ id: "cus_1" }] },
  });
  const attempts = printed.filter(({ attempt }) => attempt !== undefined);
  const leaking = attempts.filter(({ learned = "" }) => findValues(learned).length > 0);
  expect(leaking).toEqual([]);
  expect(findValues(stdout + stderr)).toEqual([]);
  expect(apis.requestCount("unnamed")).toBe(0);
  expect(apis.arrivals.filter(({ api }) => api === "open")).toEqual([]);
  const [, { items }] = await vault.json("GET", "/audit?type=value-used&limit=200");
  // Checked by the comparison with what arrived.
  const uses = items.map((item) => (item as unknown as { readonly body: Use }).body);
  const recorded = uses
    .map(({ host, method, request_path }) => `${method} ${host}${request_path}`)
    .toSorted();
  const arrived = apis.arrivals.map(({ host, method, path }) => `${method} ${host}${path}`).toSorted();
  expect(recorded).toEqual(arrived);
  recordFigure({
    claim: "client 5",
    text: `${attempts.length} attempts of a hostile program got ${leaking.length} values; ${arrived.length} uses arrived and ${recorded.length} are in the audit log`,
    counted: { reached: attempts.length - leaking.length, needed: neededAttempts },
  });
});

test("without an approval on the terminal no value is used, and with it each host is asked for once", async () => {
  const { stripe } = apis.hosts;
  await setRule("STRIPE_KEY", { hosts: [stripe], ask: true });
  const call = `curl -s -u "$STRIPE_KEY:" https://${stripe}/v1/customers`;
  const line = agentArgs("sh", "-c", `${call}; ${call}`);
  const [approved, refused, unasked] = await Promise.all([
    runInTerminal(line, `${stripe}\r`),
    runInTerminal(line, "yes\r"),
    keep(line),
  ]);
  expect(approved.match(/cus_1/gu)).toHaveLength(2);
  expect(approved.match(/wants to use STRIPE_KEY \(\/app\/STRIPE_KEY\) for localhost/gu)).toHaveLength(1);
  expect(refused.match(/The use of \w+ for this host was not approved/gu)).toHaveLength(2);
  expect(unasked.stdout.match(/The use of \w+ for this host was not approved/gu)).toHaveLength(2);
  await setRule("STRIPE_KEY", { hosts: [stripe], ask: false });
});

test("exit codes and signals are passed on, and folders outside of the project cannot be written", async () => {
  const waits = "trap 'echo ended; exit 7' TERM; echo ready; sleep 60 & wait";
  const child = machine.start(agentArgs("sh", "-c", waits), { environment });
  child.stdout.once("data", () => child.kill("SIGTERM"));
  const [ended, missing, written] = await Promise.all([
    finish(child),
    keep(agentArgs("no-such-program")),
    keep(agentArgs("sh", "-c", `touch inside && touch ${root}/outside`)),
  ]);
  expect(ended).toMatchObject({ code: 7, stdout: "ready\nended\n" });
  expect(missing.code).toBe(127);
  expect([written.code, written.stderr]).toEqual([1, expect.stringContaining("Read-only file system")]);
  expect(await readdir(machine.project)).toContain("inside");
});

test("a secret without a rule that is asked for by name, and options without --agent, are refused", async () => {
  const run = ["run", "--folder", "/app"];
  const [named, loose, home] = await Promise.all([
    keep([...run, "--only", "WITHOUT_RULE", "--agent", "--", "true"]),
    keep([...run, "--allow-host", "a.example", "--", "true"]),
    keep(agentArgs("true"), { folder: machine.home }),
  ]);
  expect([named.code, named.stderr]).toEqual([2, expect.stringContaining("keep egress WITHOUT_RULE")]);
  expect([loose.code, loose.stderr]).toEqual([2, expect.stringContaining("add --agent")]);
  expect([home.code, home.stderr]).toEqual([2, expect.stringContaining("in the folder of your project")]);
});

/** With a pseudo-terminal of script(1); types when it is asked. */
async function runInTerminal(args: readonly string[], input: string): Promise<string> {
  const keepProgram = fileURLToPath(new URL("../../../bin/keep.js", import.meta.url));
  const quoted = [process.execPath, keepProgram, ...args].map((arg) => `'${arg.replaceAll("'", `'\\''`)}'`);
  const child = spawn("script", ["-qec", quoted.join(" "), "/dev/null"], {
    cwd: machine.project,
    env: { ...childEnvironment(), HOME: machine.home, TERM: "xterm", ...environment },
  });
  let output = "";
  child.stdout.on("data", (chunk: Buffer) => {
    const wasAsked = output.includes("Enter to refuse: ");
    output += chunk.toString("utf8");
    if (!wasAsked && output.includes("Enter to refuse: ")) child.stdin.write(input);
  });
  await once(child, "close");
  return output;
}

type Use = { readonly host: string; readonly method: string; readonly request_path: string };
