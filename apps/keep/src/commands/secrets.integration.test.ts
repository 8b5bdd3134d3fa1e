import { spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import { readFile, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { childEnvironment } from "@hearth-and-keep/test-servers";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type Machine, openMachine } from "../client/test/machine.ts";
import { type OpenedVault, openVault } from "../test/open-vault.ts";

let vault: OpenedVault;
let machine: Machine;
let environment: Readonly<Record<string, string>>;

beforeAll(async () => {
  vault = await openVault();
  machine = await openMachine(vault);
  environment = { KEEP_TOKEN: vault.token.text, KEEP_SERVER: vault.url, KEEP_VAULT: vault.person.vaultId };
});
afterAll(async () => {
  await machine[Symbol.asyncDispose]();
  await vault[Symbol.asyncDispose]();
});

const keep = (args: readonly string[], input?: string) =>
  machine.keep(args, { environment, ...(input === undefined ? {} : { input }) });

test("a value from standard input is written and read byte for byte, without the newline of echo", async () => {
  const value = "päss 'word' $HOME\nsecond line";
  const written = await keep(["set", "--folder", "/app", "A"], `${value}\n`);
  expect(written).toMatchObject({ code: 0, stdout: "", stderr: "Wrote /app/A, version 1\n" });
  expect(await keep(["get", "--folder", "/app", "A"])).toMatchObject({ code: 0, stdout: value });
  expect((await keep(["get", "/app/A"])).stdout).toBe(value);
  expect(JSON.parse((await keep(["get", "/app/A", "--json"])).stdout)).toEqual({
    path: "/app/A",
    version: 1,
    type: "text",
    value,
    encoding: "utf8",
  });
});

test("a file is written byte for byte, whatever its content", async () => {
  const bytes = Buffer.concat([randomBytes(2000), Buffer.of(0, 255, 10)]);
  const file = join(machine.project, "key.bin");
  await writeFile(file, bytes);
  expect((await keep(["set", "FILE", "--file", file])).code).toBe(0);
  const read = await vault.json("GET", "/values/by-path/FILE");
  expect(Buffer.from(read[1].value, "base64").equals(bytes)).toBe(true);
  expect((await keep(["set", "FILE", "--file", `${file}.none`])).code).toBe(3);
});

test("a generated value is written and not printed", async () => {
  const { code, stdout, stderr } = await keep(["set", "GENERATED", "--generate=40"]);
  expect(code).toBe(0);
  const [, { value }] = await vault.json("GET", "/values/by-path/GENERATED");
  expect(value).toMatch(/^[A-Za-z0-9]{40}$/u);
  expect(stdout + stderr).not.toContain(value);
  expect((await keep(["set", "GENERATED", "--generate=3"])).code).toBe(2);
});

test("a value as an argument is refused before anything is written", async () => {
  const { code, stderr } = await keep(["set", "ARGUMENT", "canary-value"]);
  expect([code, stderr]).toEqual([2, expect.stringContaining("not accepted as an argument")]);
  expect(stderr).not.toContain("canary-value");
  expect((await keep(["get", "ARGUMENT"])).code).toBe(5);
});

test("--create leaves an existing secret as it is", async () => {
  expect((await keep(["set", "NEW", "--create"], "one")).code).toBe(0);
  expect((await keep(["set", "NEW", "--create"], "two")).code).toBe(2);
  expect((await keep(["get", "NEW"])).stdout).toBe("one");
});

test("a vault that demands preconditions accepts writes of new and existing secrets", async () => {
  const [, { id }] = await vault.json("POST", "/api/secrets/vaults", { name: "Strict" });
  await vault.json("PATCH", `/api/secrets/vaults/${id}`, { demands_preconditions: true });
  expect((await keep(["set", "--vault", "Strict", "A"], "one")).stderr).toContain("version 1");
  expect((await keep(["set", "--vault", id, "A"], "two")).stderr).toContain("version 2");
});

test("references are resolved unless the value is read raw", async () => {
  await vault.write("/ref/HOST", "db.example");
  await vault.write("/ref/URL", "postgres://${/ref/HOST}/app");
  expect((await keep(["get", "/ref/URL"])).stdout).toBe("postgres://db.example/app");
  expect((await keep(["get", "/ref/URL", "--raw"])).stdout).toBe("postgres://${/ref/HOST}/app");
});

test("a list names the secrets of a folder without their values", async () => {
  await vault.write("/listed/A", "canary-value");
  await vault.write("/listed/sub/B", "canary-value");
  const { stdout } = await keep(["list", "--folder", "/listed"]);
  expect(stdout).toMatch(/^NAME.*\nA .*\n$/u);
  const all = await keep(["list", "--folder", "/listed", "--recursive", "--json"]);
  const { secrets } = JSON.parse(all.stdout);
  expect(secrets.map(({ path }: { path: string }) => path)).toEqual(["/listed/A", "/listed/sub/B"]);
  expect(stdout + all.stdout).not.toContain("canary-value");
});

const inVersions = (args: readonly string[]) => keep([...args, "--folder", "/versions"]);

test("an older version is listed and restored as a new one", async () => {
  await vault.write("/versions/A", "one");
  await vault.write("/versions/A", "another");
  expect((await inVersions(["history", "A"])).stdout).toMatch(/^VERSION.*\n2 .*7 bytes\n1 .*3 bytes\n$/u);
  expect(await inVersions(["restore", "A", "1"])).toMatchObject({
    code: 0,
    stderr: "Restored version 1 of /versions/A as version 3\n",
  });
  expect((await inVersions(["get", "A"])).stdout).toBe("one");
  expect((await inVersions(["restore", "A", "9"])).code).toBe(5);
  expect((await inVersions(["restore", "A", "../1"])).code).toBe(2);
  expect((await inVersions(["history", "NONE"])).code).toBe(5);
});

const compareVersions = (...args: readonly string[]) => keep(["diff", "/compared/A", ...args]);

test("versions of a secret are compared, and values are shown only with --reveal", async () => {
  await vault.write("/compared/A", "one");
  await vault.write("/compared/A", "two");
  await vault.write("/compared/A", "two");
  expect((await compareVersions()).stdout).toBe("/compared/A, versions 2 and 3: same\n");
  const hidden = await compareVersions("--from", "1");
  expect(hidden.stdout).toBe("/compared/A, versions 1 and 3: different\n");
  expect((await compareVersions("--from", "1", "--to", "2", "--reveal")).stdout).toContain(
    "\n  - one\n  + two\n",
  );
  expect(await compareVersions("--to", "1")).toMatchObject({
    code: 2,
    stderr: expect.stringContaining("no version before 1"),
  });
  expect((await compareVersions("--from", "9")).code).toBe(5);
});

test("environments are compared with what they inherit, and values are shown only with --reveal", async () => {
  const [, { id }] = await vault.json("POST", "/api/secrets/vaults", { name: "Compared" });
  await vault.json("PATCH", `/api/secrets/vaults/${id}`, { environments: ["dev", "prod"], base: "/base" });
  const values = { "/base/api/URL": "base-url", "/dev/api/HOST": "dev-host", "/prod/api/HOST": "prod-host" };
  for (const [path, value] of Object.entries({
    ...values,
    "/prod/api/URL": "own-url",
    "/dev/api/X": "dev-x",
  }))
    await vault.json("PUT", `/api/secrets/vaults/${id}/secrets/by-path${path}`, { value });
  const diff = (...args: readonly string[]) => keep(["diff", "--vault", id, ...args]);
  const hidden = await diff("dev", "prod", "--folder", "/api");
  expect(hidden.stdout).toMatch(/^NAME .*\nHOST .*different\nURL .*different\nX .*only in \/dev\/api\n$/u);
  const shown = await diff("/dev/api", "/prod/api", "--reveal", "--json");
  expect(JSON.parse(shown.stdout).items).toMatchObject([
    { path: "HOST", change: { left: { value: "dev-host" }, right: { value: "prod-host" } } },
    { path: "URL", change: { left: { value: "base-url" }, right: { value: "own-url" } } },
    { path: "X", outcome: "left_only", change: { left: { value: "dev-x" } } },
  ]);
  for (const value of ["dev-host", "own-url"]) expect(hidden.stdout).not.toContain(value);
  expect((await diff("dev", "dev")).stdout).toContain("No differences");
});

test("a file is imported once, and exported for other programs", async () => {
  const file = join(machine.project, "app.env");
  await writeFile(file, "HOST=db.example\nURL='postgres://${./HOST}/app'\n");
  const imported = (args: readonly string[]) => keep(["import", file, "--folder", "/imported", ...args]);
  expect((await imported(["--dry-run"])).stdout).toContain("Would create: /imported/HOST");
  expect((await keep(["list", "--folder", "/imported"])).stdout).toContain("No secrets");
  expect(await imported([])).toMatchObject({
    code: 0,
    stdout: "Created: /imported/HOST\nCreated: /imported/URL\n",
  });
  await writeFile(file, "HOST=other.example\n");
  expect((await imported([])).stdout).toContain("Left as it is (use --overwrite): /imported/HOST");
  expect((await imported(["--overwrite", "--json"])).stdout).toContain('"/imported/HOST"');
  const exported = (args: readonly string[]) => keep(["export", "--folder", "/imported", ...args]);
  expect((await exported([])).stdout).toContain("URL=postgres://other.example/app");
  expect((await exported(["--format", "shell"])).stdout).toBe(
    "export HOST='other.example'\nexport URL='postgres://other.example/app'\n",
  );
  const output = join(machine.project, "secret.yaml");
  expect((await exported(["--format", "kubernetes", "--output", output])).stdout).toBe("");
  expect((await stat(output)).mode & 0o777).toBe(0o600);
  expect(await readFile(output, "utf8")).toContain(`"HOST": ${btoa("other.example")}`);
  expect((await exported(["--format", "xml"])).code).toBe(2);
});

test("errors say what to do, with exit codes by their cause", async () => {
  expect(await keep(["get", "NONE"])).toMatchObject({
    code: 5,
    stderr: expect.stringContaining('Next: run "keep list"'),
  });
  const token = await vault.addToken({ scopes: ["secrets:list"] });
  const limited = await machine.keep(["get", "/app/A"], {
    environment: { ...environment, KEEP_TOKEN: token },
  });
  expect([limited.code, limited.stderr]).toEqual([4, expect.stringContaining("Next: use a token that may")]);
  const away = { ...environment, KEEP_SERVER: "http://127.0.0.1:1" };
  expect((await machine.keep(["list"], { environment: away })).code).toBe(3);
  const plain = { ...environment, KEEP_SERVER: "http://keep.example" };
  expect((await machine.keep(["list"], { environment: plain })).stderr).toContain("unencrypted");
  expect((await keep(["list", "--folder", "../x"])).code).toBe(2);
  expect((await keep(["get"])).code).toBe(2);
});

test("a terminal shows a value only with --reveal, and without control characters", async () => {
  await vault.write("/TERMINAL", "canary\u001B[2J");
  const { stdout: hidden } = await runInTerminal("keep get /TERMINAL");
  expect(hidden).toContain("--reveal");
  expect(hidden).not.toContain("canary");
  const { stdout: shown } = await runInTerminal("keep get /TERMINAL --reveal");
  expect(shown).toContain("canary␛[2J");
});

test("a prompt in a terminal does not show what is typed", async () => {
  const { stdout } = await runInTerminal("keep set /TYPED", "typed-canary\r");
  expect(stdout).toContain("Value of /TYPED (not shown)");
  expect(stdout.split("Value of").at(-1)).not.toContain("typed-canary");
  expect((await keep(["get", "/TYPED"])).stdout).toBe("typed-canary");
});

/** With a pseudo-terminal of script(1). */
async function runInTerminal(line: string, input = "") {
  const program = new URL("../../bin/keep.js", import.meta.url).pathname;
  const shellLine = line.replaceAll(/\bkeep (?=get|set)/gu, `${process.execPath} ${program} `);
  const child = spawn("script", ["-qec", shellLine, "/dev/null"], {
    cwd: machine.project,
    env: { ...childEnvironment(), HOME: machine.home, TERM: "xterm", ...environment },
  });
  let stdout = "";
  child.stdout.on("data", (chunk: Buffer) => {
    stdout += chunk.toString("utf8");
    if (input !== "" && stdout.includes("not shown): ") && child.stdin.writable) child.stdin.end(input);
  });
  if (input === "") child.stdin.end();
  await new Promise((resolve) => child.on("close", resolve));
  return { stdout };
}

test("completion scripts know every command", async () => {
  for (const shell of ["bash", "zsh", "fish"]) {
    const { code, stdout } = await keep(["completion", shell]);
    expect(code).toBe(0);
    for (const name of ["login", "run", "serve", "audit"]) expect(stdout).toContain(name);
  }
});
