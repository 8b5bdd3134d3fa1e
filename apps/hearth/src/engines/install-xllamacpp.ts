import { rename, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { FailureError } from "@hearth-and-keep/failures";
import type { EngineLocations, EngineProgram, EngineSetupFailure } from "./engine-programs.ts";
import { findTool, interpreterOf } from "./find-engines.ts";
import { runTool } from "./run-tool.ts";
import { openStagingFolder } from "./staging-folder.ts";
import { xllamacppRequirements, xllamacppVersion } from "./xllamacpp-release.ts";

export type InstallOptions = {
  /** Receives a message for the terminal before each step. */
  readonly onStep: (message: string) => void;
  readonly signal?: AbortSignal;
  /** A requirements file for pip; by default the release that Hearth is tested with. */
  readonly requirements?: string;
};

const interpreters = [
  "python3",
  "python3.14",
  "python3.13",
  "python3.12",
  "python3.11",
  "python3.10",
  "python",
];

/** Installs xllamacpp into a virtual environment of its own, completely or not at all. An existing one is kept. */
export async function installXllamacpp(
  locations: EngineLocations,
  { onStep, signal, requirements = xllamacppRequirements }: InstallOptions,
): Promise<EngineProgram> {
  const folder = join(locations.folder, `xllamacpp-${xllamacppVersion}`);
  const program = {
    kind: "xllamacpp",
    interpreter: interpreterOf(folder),
    version: xllamacppVersion,
  } as const;
  if (findTool(["python"], [join(folder, "bin"), join(folder, "Scripts")]) !== undefined) {
    onStep(`xllamacpp ${xllamacppVersion} is already installed`);
    return program;
  }
  const python = await findPython(locations.searchPath);
  await using staging = await openStagingFolder(locations.folder, "xllamacpp");
  onStep("Creating a Python virtual environment");
  await createEnvironment(python, staging.path, signal);
  onStep(`Downloading xllamacpp ${xllamacppVersion} (about 30 MB) and verifying its hash`);
  await installInto(staging.path, { requirements, signal });
  await rm(folder, { recursive: true, force: true });
  await rename(staging.path, folder);
  return program;
}

async function findPython(searchPath: readonly string[]): Promise<string> {
  for (const name of interpreters) {
    const path = findTool([name], searchPath);
    if (path !== undefined && (await isNewEnough(path))) return path;
  }
  throw new FailureError<EngineSetupFailure>({ kind: "tool-missing", tool: "python" });
}

async function isNewEnough(command: string): Promise<boolean> {
  const args = ["-c", "import sys; print('new' if sys.version_info >= (3, 10) else 'old')"];
  const printed = await runTool({ step: "run Python", command, args }).catch(() => "");
  return printed.trim() === "new";
}

async function createEnvironment(command: string, folder: string, signal?: AbortSignal): Promise<void> {
  const run = { step: "create a Python virtual environment", command, ...(signal && { signal }) };
  await runTool({ ...run, args: ["-c", "import ensurepip, venv"] }).catch((cause: unknown) => {
    signal?.throwIfAborted();
    throw new FailureError<EngineSetupFailure>({ kind: "tool-missing", tool: "python-venv" }, { cause });
  });
  await runTool({ ...run, args: ["-m", "venv", folder] });
}

type PipInstall = { readonly requirements: string; readonly signal: AbortSignal | undefined };

async function installInto(environment: string, { requirements, signal }: PipInstall): Promise<void> {
  const file = join(environment, "requirements.txt");
  await writeFile(file, `${requirements}\n`);
  const checks = ["--require-hashes", "--only-binary", ":all:", "--no-deps"];
  const quiet = ["--quiet", "--disable-pip-version-check", "--no-input"];
  await runTool({
    step: "install xllamacpp",
    command: interpreterOf(environment),
    args: ["-m", "pip", "install", ...quiet, ...checks, "--requirement", file],
    ...(signal && { signal }),
  });
}
