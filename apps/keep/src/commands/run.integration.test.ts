import { chmod, lstat, mkdir, readdir, readFile, readlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { finish, type Machine, openMachine, type RunOptions } from "../client/test/machine.ts";
import { type OpenedVault, openVault } from "../test/open-vault.ts";

let vault: OpenedVault;
let machine: Machine;
let environment: Readonly<Record<string, string>>;

beforeAll(async () => {
  vault = await openVault();
  machine = await openMachine(vault);
  environment = { KEEP_TOKEN: vault.token.text, KEEP_SERVER: vault.url, KEEP_VAULT: vault.person.vaultId };
  await vault.write("/app/HOST", "db.example");
  await vault.write("/app/URL", "postgres://user:pass word@${./HOST}/app");
  await vault.write("/app/lines", "not a variable");
});
afterAll(async () => {
  await machine[Symbol.asyncDispose]();
  await vault[Symbol.asyncDispose]();
});

const run = (args: readonly string[], options: RunOptions = {}) =>
  machine.keep(["run", "--folder", "/app", ...args], {
    ...options,
    environment: { ...environment, ...options.environment },
  });

const printEnvironment = ["--", "node", "-p", "JSON.stringify(process.env)"];

test("a program gets the secrets with resolved references, its own environment, and nothing of Keep's", async () => {
  const { code, stdout } = await run(printEnvironment, { environment: { HOST: "old", OTHER: "kept" } });
  expect(code).toBe(0);
  const found = JSON.parse(stdout);
  expect(found).toMatchObject({
    HOST: "db.example",
    URL: "postgres://user:pass word@db.example/app",
    lines: "not a variable",
    OTHER: "kept",
  });
  expect(Object.keys(found).filter((name) => name.startsWith("KEEP_"))).toEqual([]);
});

const countReads = async () => (await vault.json("GET", "/audit?type=values-read&limit=200"))[1].items.length;

test("the values are one record of the audit log", async () => {
  const before = await countReads();
  await run(["--", "true"]);
  expect(await countReads()).toBe(before + 1);
});

test("a selection passes only its names, and a missing name ends before the start", async () => {
  const selected = await run(["--only", "HOST", "--prefix", "APP_", ...printEnvironment]);
  const found = JSON.parse(selected.stdout);
  expect(found).toMatchObject({ APP_HOST: "db.example" });
  expect(found).not.toHaveProperty("APP_URL");
  const touched = ["--", "touch", join(machine.project, "started")];
  for (const option of ["--only", "--require"]) {
    const missing = await run([option, "HOST,NONE", ...touched]);
    expect([missing.code, missing.stderr]).toEqual([5, expect.stringContaining("Not found in /app: NONE")]);
  }
  expect(await readdir(machine.project)).not.toContain("started");
  expect((await run(["--require", "HOST,URL", ...touched])).code).toBe(0);
  expect(await readdir(machine.project)).toContain("started");
});

test("exit codes and options of the program are passed on, and standard input is its own", async () => {
  expect((await run(["--", "sh", "-c", "exit 42"])).code).toBe(42);
  expect((await run(["--", "sh", "-c", "kill -TERM $$"])).code).toBe(143);
  expect((await run(["--", "sh", "-c", "kill -KILL $$"])).code).toBe(137);
  expect((await run(["--", "no-such-program"])).code).toBe(127);
  const file = join(machine.project, "not-executable");
  await writeFile(file, "text");
  await chmod(file, 0o644);
  expect((await run(["--", file])).code).toBe(126);
  expect((await run(["cat", "--", "-"], { input: "typed" })).stdout).toBe("typed");
  expect((await run(["node", "-p", "process.argv.slice(1).join()", "--", "--env", "x"])).stdout).toBe(
    "--env,x\n",
  );
});

test("signals reach the program, which decides what they mean", { timeout: 60_000 }, async () => {
  for (const signal of ["SIGTERM", "SIGHUP", "SIGINT", "SIGUSR2"] as const) {
    const script = `process.on("${signal}", () => process.exit(7)); setInterval(() => {}, 1000); console.log("ready")`;
    const child = machine.start(["run", "--folder", "/app", "--", "node", "-e", script], { environment });
    const finished = finish(child);
    await new Promise((resolve) => child.stdout.once("data", resolve));
    child.kill(signal);
    expect([signal, (await finished).code]).toEqual([signal, 7]);
  }
});

test("a program that writes to a closed pipe ends by SIGPIPE, as without Keep", async () => {
  const script = 'yes | head -n 1; echo "${PIPESTATUS[0]}"';
  expect((await run(["--", "bash", "-c", script])).stdout).toBe("y\n141\n");
});

test("no value is in the arguments or the environment of Keep's own process", async () => {
  const script = 'sleep 0.2; for file in cmdline environ; do tr "\\0" "\\n" < /proc/$PPID/$file; done';
  const { stdout } = await run(["--", "sh", "-c", script]);
  expect(stdout).toContain("KEEP_SERVER");
  expect(stdout).not.toContain("db.example");
});

test("values in the output are replaced, also in standard error and encoded", async () => {
  const script = [
    'printf "%s" "$HOST" | cut -c1-4 | tr -d "\\n"; sleep 0.1; printf "%s\\n" "$HOST" | cut -c5-',
    'printf "%s" "$URL" | base64 >&2',
  ].join("\n");
  const { stdout, stderr, code } = await run(["--redact", "--", "sh", "-c", script]);
  expect([code, stdout]).toEqual([0, "[hidden]\n"]);
  expect(stderr).toContain("[hidden]");
  expect(Buffer.from(stderr, "base64").toString("utf8")).not.toContain("pass");
  expect((await run(["--", "sh", "-c", "echo $HOST"])).stdout).toBe("db.example\n");
});

test("with --redact, a program that writes to a closed pipe ends, and Keep with it", async () => {
  const child = machine.start(["run", "--folder", "/app", "--redact", "--", "yes"], { environment });
  const finished = finish(child);
  child.stdout.once("data", () => child.stdout.destroy());
  // Not SIGPIPE, because Node connects programs by sockets.
  expect(await finished).toMatchObject({ code: 1, stderr: expect.stringMatching(/^yes: .*\n$/u) });
});

test("a copy on this machine is used while the server is away, and not after it revoked the token", {
  timeout: 120_000,
}, async () => {
  const token = await vault.addToken({ scopes: ["secrets:read"] });
  // A server that stops: the client resolves its name and port only.
  const own = { environment: { KEEP_TOKEN: token } };
  const offline = ["--offline", ...printEnvironment];
  expect((await run(offline, own)).code).toBe(0);
  const files = await readdir(join(machine.home, ".cache/keep"));
  expect(files).toHaveLength(1);
  const stored = await readFile(join(machine.home, ".cache/keep", files[0] ?? ""));
  expect(stored.includes("db.example")).toBe(false);
  const [, self] = await vault.as(token).json("GET", "/api/secrets/tokens/self");
  await vault.json("DELETE", `/api/secrets/tokens/${self.id}`);
  expect((await run(offline, own)).code).toBe(4);
  expect(await readdir(join(machine.home, ".cache/keep"))).toEqual([]);
});

/** A program that says each time that it starts, and ends at SIGTERM. */
const announce = 'echo "started with $VALUE"; exec sleep 60';

test("with --watch, a changed secret restarts the program, and a signal ends both", async () => {
  await vault.write("/watched/VALUE", "one");
  const args = ["run", "--folder", "/watched", "--watch", "--interval", "1", "--", "sh", "-c", announce];
  const child = machine.start(args, { environment });
  const finished = finish(child);
  let output = "";
  child.stdout.on("data", (chunk: Buffer) => (output += chunk.toString("utf8")));
  await expect.poll(() => output).toBe("started with one\n");
  // Another secret of the vault is none of its own.
  await vault.write("/elsewhere", "other");
  await vault.write("/watched/VALUE", "two");
  await expect.poll(() => output).toBe("started with one\nstarted with two\n");
  child.kill("SIGTERM");
  expect(await finished).toMatchObject({ code: 143, stderr: expect.stringContaining("restarting") });
});

test("with --watch, a program that takes its time to end after SIGTERM is not started again", async () => {
  await vault.write("/slow/VALUE", "one");
  const script = 'trap "sleep 3; exit 5" TERM; echo "started with $VALUE"; while :; do sleep 0.1; done';
  const args = ["run", "--folder", "/slow", "--watch", "--interval", "1", "--", "sh", "-c", script];
  const child = machine.start(args, { environment });
  const finished = finish(child);
  await new Promise((resolve) => child.stdout.once("data", resolve));
  child.kill("SIGTERM");
  await vault.write("/slow/VALUE", "two");
  expect(await finished).toMatchObject({ code: 5, stdout: "started with one\n" });
});

test("a program that cannot be started ends Keep at once", async () => {
  const startedAt = performance.now();
  expect((await run(["--", "no-such-program"])).code).toBe(127);
  expect(performance.now() - startedAt).toBeLessThan(8000);
});

test("with --watch, the program's own end ends Keep at once, with its exit code", async () => {
  const startedAt = performance.now();
  expect((await run(["--watch", "--interval", "3600", "--", "sh", "-c", "exit 9"])).code).toBe(9);
  expect(performance.now() - startedAt).toBeLessThan(20_000);
});

test("with --mount, a program gets files in a private folder, which are gone afterwards", async () => {
  const bytes = Buffer.of(0, 255, 10);
  await vault.json("PUT", "/secrets/by-path/mounted/tls.key", {
    value: bytes.toString("base64"),
    encoding: "base64",
    type: "binary",
  });
  await vault.write("/mounted/HOST", "db.example");
  const mount = join(machine.project, "secrets");
  const script = "stat -L -c %a secrets secrets/HOST; readlink secrets; od -An -tx1 secrets/tls.key; env";
  const args = ["run", "--folder", "/mounted", "--mount", "secrets", "--", "sh", "-c", script];
  const { code, stdout, stderr } = await machine.keep(args, { environment });
  expect([code, stderr]).toEqual([0, ""]);
  const [folderMode, fileMode, target = "", dump, ...variables] = stdout.split("\n");
  expect([folderMode, fileMode, dump]).toEqual(["500", "400", " 00 ff 0a"]);
  expect(variables.join()).not.toContain("db.example");
  await expect(lstat(mount)).rejects.toThrow("ENOENT");
  await expect(lstat(join(target, ".."))).rejects.toThrow("ENOENT");
});

test("mounted files are gone after SIGTERM, and what SIGKILL left is removed by the next run", async () => {
  await vault.write("/mounted/HOST", "db.example");
  const mount = join(machine.project, "secrets");
  const start = async () => {
    const script = "echo ready; exec sleep 60";
    const args = ["run", "--folder", "/mounted", "--mount", mount, "--", "sh", "-c", script];
    const child = machine.start(args, { environment });
    const finished = finish(child);
    await new Promise((resolve) => child.stdout.once("data", resolve));
    return { child, finished, target: await readlink(mount) };
  };
  const ended = await start();
  ended.child.kill("SIGTERM");
  expect((await ended.finished).code).toBe(143);
  await expect(lstat(mount)).rejects.toThrow("ENOENT");
  const killed = await start();
  const [program = ""] = (
    await readFile(`/proc/${killed.child.pid}/task/${killed.child.pid}/children`, "utf8")
  )
    .trim()
    .split(" ");
  killed.child.kill("SIGKILL");
  process.kill(Number(program), "SIGKILL");
  expect((await killed.finished).code).toBe(137);
  expect((await lstat(killed.target)).isDirectory()).toBe(true);
  const next = await start();
  await expect(lstat(killed.target)).rejects.toThrow("ENOENT");
  next.child.kill("SIGTERM");
  await next.finished;
});

test("--mount replaces nothing that exists", async () => {
  const folder = join(machine.project, "kept");
  await mkdir(folder);
  await writeFile(join(folder, "file"), "kept");
  const refused = await run(["--mount", folder, "--", "true"]);
  expect([refused.code, refused.stderr]).toEqual([2, expect.stringContaining("exists already")]);
  expect(await readFile(join(folder, "file"), "utf8")).toBe("kept");
});

test("a token from a file is used instead of a login, and needs a server that is named", async () => {
  const file = join(machine.project, "credential");
  await writeFile(file, `${vault.token.text}\n`);
  const { KEEP_TOKEN: _token, ...others } = environment;
  const args = ["run", "--folder", "/app", "--token-file", file, "--", "printenv", "HOST"];
  expect((await machine.keep(args, { environment: others })).stdout).toBe("db.example\n");
  await writeFile(file, "no\ntoken");
  expect((await machine.keep(args, { environment: others })).stderr).toContain("There is no token in");
  await writeFile(file, vault.token.text);
  await writeFile(join(machine.project, ".keep.toml"), `server = "${vault.url}"\n`);
  const { KEEP_SERVER: _server, ...unnamed } = others;
  expect((await machine.keep(args, { environment: unnamed })).stderr).toContain("is not sent to it");
});
