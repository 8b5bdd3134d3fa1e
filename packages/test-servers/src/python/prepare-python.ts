/**
 * @module
 * Python for tests: the official clients of the three protocols, schemathesis, and llama.cpp's own server, in
 * one environment in the cache, made from `scripts/python/requirements.txt` where every file is pinned by hash.
 * Promises a whole environment or a plain sentence: two runs at once are safe, a cut-off run leaves nothing that
 * counts. Its scripts carry the path they were made under, so modules are run as `<interpreter> -m …`.
 * Imported by the other parts of this package and, through its index, by tests.
 */
import { execFile } from "node:child_process";
import { createHash } from "node:crypto";
import { access, readFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { cacheFolder, downloadEnvironment } from "../config.ts";
import { makeOnce } from "../create-once.ts";

export type PythonEnvironment = { readonly folder: string; readonly interpreter: string };

type PythonPlan = {
  /** The program that makes the environment; `python3` on the PATH unless told. */
  readonly command?: string;
  readonly requirements?: string;
  readonly cache?: string;
};

const run = promisify(execFile);
const lockedRequirements = fileURLToPath(
  new URL("../../../../scripts/python/requirements.txt", import.meta.url),
);

/** The environment's interpreter, made on first use: about a minute with an empty cache. */
export async function preparePython(plan: PythonPlan = {}): Promise<PythonEnvironment> {
  const command = plan.command ?? "python3";
  const requirements = plan.requirements ?? lockedRequirements;
  const version = await askVersion(command);
  const fingerprint = createHash("sha256")
    .update(await readFile(requirements))
    .digest("hex");
  const folder = await makeOnce({
    // An environment belongs to the Python it was made with, so both are in its name.
    path: join(plan.cache ?? cacheFolder, `python-${version}-${fingerprint.slice(0, 16)}`),
    make: (unfinished) => makeEnvironment({ command, requirements, folder: unfinished }),
  });
  const interpreter = join(folder, "bin", "python");
  // It is a link to the Python it was made with, which may be gone since.
  await access(interpreter).catch((cause) => {
    throw new Error(`Cannot use "${folder}": its Python is gone; delete the folder to make it again`, {
      cause,
    });
  });
  return { folder, interpreter };
}

async function askVersion(command: string): Promise<string> {
  const question = "import sys; print('%d.%d' % sys.version_info[:2], sys.version_info >= (3, 11))";
  const { stdout } = await run(command, ["-c", question], { env: downloadEnvironment() }).catch((cause) => {
    throw new Error(`Cannot run "${command}": install Python 3.11 or newer (Debian: python3)`, { cause });
  });
  const [version = "", isNewEnough] = stdout.trim().split(" ");
  if (isNewEnough !== "True") {
    throw new Error(`Cannot use "${command}": it is Python ${version}, and 3.11 or newer is needed`);
  }
  return version;
}

type Making = { readonly command: string; readonly requirements: string; readonly folder: string };

async function makeEnvironment({ command, requirements, folder }: Making): Promise<void> {
  const env = downloadEnvironment();
  await run(command, ["-c", "import ensurepip, venv"], { env }).catch((cause) => {
    throw new Error(
      `Cannot make a Python environment: "${command}" lacks the venv module (Debian: python3-venv)`,
      { cause },
    );
  });
  await run(command, ["-m", "venv", folder], { env });
  // Compiling all modules takes as long as the rest; Python compiles the few that are used when they are.
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
