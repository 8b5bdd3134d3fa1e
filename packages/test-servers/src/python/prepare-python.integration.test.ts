import { chmod, mkdir, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { beforeAll, expect, test } from "vitest";
import { makeTemporaryFolder } from "../temporary-folder.ts";
import { preparePython } from "./prepare-python.ts";
import { runPython } from "./run-python.ts";

const requirements = new URL("../../../../scripts/python/", import.meta.url);

beforeAll(() => preparePython(), 600_000);

// Importing them all takes ten seconds alone, and a minute beside other work.
test("the official clients load and are exactly the pinned versions", { timeout: 300_000 }, async () => {
  const output = await runPython(fixture("print-versions.py"));
  // The shape is what the fixture prints as its last line.
  const { versions } = JSON.parse(output.trim().split("\n").at(-1) ?? "") as {
    versions: Record<string, string>;
  };
  const pins = (await readFile(new URL("requirements.in", requirements), "utf8"))
    .split("\n")
    .filter((line) => /^[a-z]/.test(line));
  expect(Object.entries(versions).map(([name, version]) => `${name}==${version}`)).toEqual(
    expect.arrayContaining(pins),
  );
  process.stdout.write(`Python clients: ${pins.join(" ")}\n`);
});

test("every locked requirement has a hash", async () => {
  const locked = await readFile(new URL("requirements.txt", requirements), "utf8");
  const blocks = locked.split(/\n(?=\S)/).filter((block) => block.includes("=="));
  expect(blocks.length).toBeGreaterThan(50);
  expect(blocks.filter((block) => !block.includes("--hash=sha256:"))).toEqual([]);
});

test("a package with the locked hash is installed once for two callers, and a missing Python is reported", async () => {
  await using folder = await makeTemporaryFolder("python");
  const plan = await writePlan(folder.path, await lockedBlock("iniconfig"));
  const [first, second] = await Promise.all([preparePython(plan), preparePython(plan)]);
  expect(second).toEqual(first);
  expect(await readdir(plan.cache)).toHaveLength(1);
  expect(await readdir(await sitePackages(first.folder))).toContain("iniconfig");
  await rm(first.interpreter);
  await expect(preparePython(plan)).rejects.toThrow("its Python is gone; delete the folder to recreate it");
});

test("a package with a different hash is rejected and leaves no environment", async () => {
  await using folder = await makeTemporaryFolder("python");
  const block = await lockedBlock("iniconfig");
  const plan = await writePlan(folder.path, block.replaceAll(/sha256:[0-9a-f]{8}/g, "sha256:00000000"));
  await expect(preparePython(plan)).rejects.toThrow(/Cannot install the Python packages.*HASHES/s);
  expect(await readdir(plan.cache)).toEqual([]);
});

test("a missing python3 is reported with what to install", async () => {
  await expect(preparePython({ command: "/nowhere/python3" })).rejects.toThrow(
    'Cannot run "/nowhere/python3": install Python 3.11 or newer (Debian: python3)',
  );
});

test("a Python that is too old is reported with its version", async () => {
  await using folder = await makeTemporaryFolder("python");
  const command = await writeProgram(folder.path, "echo 3.9 False");
  await expect(preparePython({ command })).rejects.toThrow("it is Python 3.9, but 3.11 or newer is required");
});

test("a Python without venv is reported with what to install", async () => {
  await using folder = await makeTemporaryFolder("python");
  await mkdir(join(folder.path, "modules"));
  await writeFile(join(folder.path, "modules", "ensurepip.py"), "raise ImportError('not installed')");
  const command = await writeProgram(
    folder.path,
    `PYTHONPATH="${join(folder.path, "modules")}" exec python3 "$@"`,
  );
  const plan = await writePlan(folder.path, await lockedBlock("iniconfig"));
  await expect(preparePython({ ...plan, command })).rejects.toThrow("(Debian: python3-venv)");
});

test("a failing script throws with its error output, a successful one returns its output", async () => {
  await using folder = await makeTemporaryFolder("python");
  const script = join(folder.path, "divide.py");
  await writeFile(script, "import sys\nprint(12 / int(sys.argv[1]))\n");
  expect(await runPython(script, ["4"])).toBe("3.0\n");
  await expect(runPython(script, ["0"])).rejects.toThrow(/Cannot run .*exited with 1.*ZeroDivisionError/s);
});

test("a script that exceeds its timeout is stopped", async () => {
  await using folder = await makeTemporaryFolder("python");
  const script = join(folder.path, "sleep.py");
  await writeFile(script, "import time\ntime.sleep(60)\n");
  await expect(runPython(script, [], { timeoutSeconds: 1 })).rejects.toThrow("it ran longer than 1 s");
});

function fixture(name: string): string {
  return fileURLToPath(new URL(`fixtures/${name}`, import.meta.url));
}

async function lockedBlock(name: string): Promise<string> {
  const locked = await readFile(new URL("requirements.txt", requirements), "utf8");
  return locked.split(/\n(?=\S)/).find((block) => block.startsWith(`${name}==`)) ?? "";
}

async function writePlan(folder: string, content: string): Promise<{ requirements: string; cache: string }> {
  const path = join(folder, "requirements.txt");
  await writeFile(path, `${content}\n`);
  return { requirements: path, cache: join(folder, "cache") };
}

async function sitePackages(environment: string): Promise<string> {
  const [version = ""] = await readdir(join(environment, "lib"));
  return join(environment, "lib", version, "site-packages");
}

async function writeProgram(folder: string, line: string): Promise<string> {
  const path = join(folder, "python3");
  await writeFile(path, `#!/bin/sh\n${line}\n`);
  await chmod(path, 0o755);
  return path;
}
