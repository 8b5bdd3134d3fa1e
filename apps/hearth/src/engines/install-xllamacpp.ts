import { rename, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { FailureError } from "@hearth-and-keep/failures";
import type { EnginePlaces, EngineProgram, EngineSetupFailure } from "./engine-programs.ts";
import { findTool, interpreterOf } from "./find-engines.ts";
import { runTool } from "./run-tool.ts";
import { openUnfinishedFolder } from "./unfinished-folder.ts";
import { xllamacppRequirements, xllamacppVersion } from "./xllamacpp-release.ts";

export type InstallParts = {
  /** Hears, in plain sentences, what is being done. */
  readonly tell: (sentence: string) => void;
  readonly signal?: AbortSignal;
  /** What is installed, as pip reads it; the release we were tested with unless told. */
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

/** An environment of our own with xllamacpp in it: a whole one, or none. One that is there is left as it is. */
export async function installXllamacpp(
  places: EnginePlaces,
  { tell, signal, requirements = xllamacppRequirements }: InstallParts,
): Promise<EngineProgram> {
  const folder = join(places.folder, `xllamacpp-${xllamacppVersion}`);
  const program = {
    kind: "xllamacpp",
    interpreter: interpreterOf(folder),
    version: xllamacppVersion,
  } as const;
  if (findTool(["python"], [join(folder, "bin"), join(folder, "Scripts")]) !== undefined) {
    tell(`xllamacpp ${xllamacppVersion} is installed already`);
    return program;
  }
  const python = await findPython(places.searchPath);
  await using unfinished = await openUnfinishedFolder(places.folder, "xllamacpp");
  tell("Making a Python environment of its own");
  await makeEnvironment(python, unfinished.path, signal);
  tell(`Downloading xllamacpp ${xllamacppVersion} (some 30 MB) and checking it by hash`);
  await installInto(unfinished.path, { requirements, signal });
  await rm(folder, { recursive: true, force: true });
  await rename(unfinished.path, folder);
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
  const words = ["-c", "import sys; print('new' if sys.version_info >= (3, 10) else 'old')"];
  const printed = await runTool({ step: "ask Python for its version", command, words }).catch(() => "");
  return printed.trim() === "new";
}

async function makeEnvironment(command: string, folder: string, signal?: AbortSignal): Promise<void> {
  const made = { step: "make a Python environment", command, ...(signal && { signal }) };
  await runTool({ ...made, words: ["-c", "import ensurepip, venv"] }).catch((cause: unknown) => {
    signal?.throwIfAborted();
    throw new FailureError<EngineSetupFailure>({ kind: "tool-missing", tool: "python-venv" }, { cause });
  });
  await runTool({ ...made, words: ["-m", "venv", folder] });
}

type Installing = { readonly requirements: string; readonly signal: AbortSignal | undefined };

async function installInto(environment: string, { requirements, signal }: Installing): Promise<void> {
  const file = join(environment, "requirements.txt");
  await writeFile(file, `${requirements}\n`);
  const checks = ["--require-hashes", "--only-binary", ":all:", "--no-deps"];
  const quietly = ["--quiet", "--disable-pip-version-check", "--no-input"];
  await runTool({
    step: "install xllamacpp",
    command: interpreterOf(environment),
    words: ["-m", "pip", "install", ...quietly, ...checks, "--requirement", file],
    ...(signal && { signal }),
  });
}
