/**
 * @module
 * Python for tests: the official clients of the three APIs, schemathesis, and llama.cpp's own server, in one virtual
 * environment in the cache, installed from `scripts/python/requirements.txt`, where every file is pinned by hash.
 * Returns a complete environment or throws a clear error: concurrent runs are safe, and an interrupted run leaves no
 * partial environment. Its scripts contain the path they were created under, so run modules as `<interpreter> -m …`.
 * Imported by other folders of this package and, through its index, by tests.
 */
import { execFile } from "node:child_process";
import { createHash } from "node:crypto";
import { access, readFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { cacheFolder, downloadEnvironment } from "../config.ts";
import { createOnce } from "../create-once.ts";

export type PythonEnvironment = { readonly folder: string; readonly interpreter: string };

type PythonPlan = {
  /** The program that creates the environment; by default `python3` on the PATH. */
  readonly command?: string;
  readonly requirements?: string;
  readonly cache?: string;
};

const run = promisify(execFile);
const lockedRequirements = fileURLToPath(
  new URL("../../../../scripts/python/requirements.txt", import.meta.url),
);

/** The environment, created on first use, which takes about a minute with an empty cache. */
export async function preparePython(plan: PythonPlan = {}): Promise<PythonEnvironment> {
  const command = plan.command ?? "python3";
  const requirements = plan.requirements ?? lockedRequirements;
  const version = await readVersion(command);
  const fingerprint = createHash("sha256")
    .update(await readFile(requirements))
    .digest("hex");
  const folder = await createOnce({
    // An environment depends on the Python that created it, so both are in its name.
    path: join(plan.cache ?? cacheFolder, `python-${version}-${fingerprint.slice(0, 16)}`),
    create: (unfinished) => createEnvironment({ command, requirements, folder: unfinished }),
  });
  const interpreter = join(folder, "bin", "python");
  // It is a link to the Python that created it, which may have been removed.
  await access(interpreter).catch((cause) => {
    throw new Error(`Cannot use "${folder}": its Python is gone; delete the folder to recreate it`, {
      cause,
    });
  });
  return { folder, interpreter };
}

async function readVersion(command: string): Promise<string> {
  const code = "import sys; print('%d.%d' % sys.version_info[:2], sys.version_info >= (3, 11))";
  const { stdout } = await run(command, ["-c", code], { env: downloadEnvironment() }).catch((cause) => {
    throw new Error(`Cannot run "${command}": install Python 3.11 or newer (Debian: python3)`, { cause });
  });
  const [version = "", isNewEnough] = stdout.trim().split(" ");
  if (isNewEnough !== "True") {
    throw new Error(`Cannot use "${command}": it is Python ${version}, but 3.11 or newer is required`);
  }
  return version;
}

type EnvironmentPlan = { readonly command: string; readonly requirements: string; readonly folder: string };

async function createEnvironment({ command, requirements, folder }: EnvironmentPlan): Promise<void> {
  const env = downloadEnvironment();
  await run(command, ["-c", "import ensurepip, venv"], { env }).catch((cause) => {
    throw new Error(
      `Cannot create a Python environment: "${command}" lacks the venv module (Debian: python3-venv)`,
      { cause },
    );
  });
  await run(command, ["-m", "venv", folder], { env });
  // Compiling all modules would double the time; Python compiles those that are used on import.
  const options = ["--no-deps", "--require-hashes", "--only-binary", ":all:", "--no-compile", "--quiet"];
  await run(
    join(folder, "bin", "python"),
    ["-m", "pip", "install", "--disable-pip-version-check", ...options, "--requirement", requirements],
    { env },
  ).catch((cause) => {
    throw new Error(`Cannot install the Python packages of "${requirements}"\n${cause.stderr ?? ""}`, {
      cause,
    });
  });
}
