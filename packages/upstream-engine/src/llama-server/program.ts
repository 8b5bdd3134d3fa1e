import { execFile } from "node:child_process";
import { existsSync, readlinkSync, realpathSync } from "node:fs";
import { dirname, isAbsolute, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { llamaServerArgs } from "./llama-server-args.ts";
import type { StartPlan } from "./start-plan.ts";

export type LlamaServerProgram =
  /** A `llama-server` binary of llama.cpp. */
  | { readonly kind: "llama-server"; readonly path: string }
  /** A Python interpreter with the package `xllamacpp`. */
  | { readonly kind: "xllamacpp"; readonly interpreter: string };

export type ProgramLaunch = {
  readonly program: string;
  readonly args: readonly string[];
  /** Files and folders it needs in addition to the system libraries. */
  readonly readablePaths: readonly string[];
  readonly environment: Readonly<Record<string, string>>;
  /** Written to its standard input, which then stays open as long as this process runs. */
  readonly input: string;
};

/** Next to this file in a clone, next to the program in an installed package. */
const launcher = fileURLToPath(
  import.meta.url.endsWith(".ts")
    ? new URL("launch.py", import.meta.url)
    : new URL("./engine/launch.py", import.meta.url),
);
const pythonEnvironment = { PYTHONUTF8: "1", PYTHONDONTWRITEBYTECODE: "1" };

/** Determines how to start a program for a plan and which files it must be able to read. */
export async function planProgram(
  program: LlamaServerProgram,
  plan: StartPlan,
  keyFile: string,
): Promise<ProgramLaunch> {
  if (program.kind === "llama-server") {
    const readablePaths = pathsOfBinary(program.path);
    const args = llamaServerArgs(plan, keyFile);
    return { program: program.path, args, readablePaths, environment: {}, input: "" };
  }
  const { interpreter } = program;
  return {
    program: interpreter,
    args: ["-I", launcher],
    readablePaths: [launcher, ...(await pathsOfPython(interpreter))],
    environment: pythonEnvironment,
    input: `${JSON.stringify(plan)}\n`,
  };
}

/** Folders with other programs, which are not made visible. */
const sharedFolders = new Set(["/usr/bin", "/usr/local/bin", "/bin"]);

/** The program, the symbolic links to it, and the libraries in its own folder or the `lib` folder next to it. */
function pathsOfBinary(path: string): readonly string[] {
  const folder = dirname(realpathSync(path));
  const libraries = join(folder, "../lib");
  return [
    ...linksTo(path),
    ...(sharedFolders.has(folder) ? [] : [folder]),
    ...(existsSync(libraries) && libraries !== "/usr/lib" ? [libraries] : []),
  ];
}

const pathScript = "import json, sys; print(json.dumps([sys.prefix, sys.base_prefix, sys.path]))";

/** A virtual environment has its packages in one folder and its standard library in another, which can be anywhere. */
async function pathsOfPython(interpreter: string): Promise<readonly string[]> {
  const { stdout } = await promisify(execFile)(interpreter, ["-I", "-c", pathScript], {
    env: pythonEnvironment,
    timeout: 30_000,
  });
  // The shape printed by `pathScript`.
  const [prefix, base, path] = JSON.parse(stdout) as [string, string, readonly string[]];
  const folders = [base, prefix].filter((folder) => folder !== "/usr");
  const outside = path.filter((each) => !each.startsWith("/usr/lib/") && existsSync(each));
  return [...linksTo(interpreter), ...folders, ...outside];
}

/** A path and every symbolic link it goes through, because a sandboxed program sees only paths that are mounted. */
function linksTo(path: string): readonly string[] {
  try {
    const target = readlinkSync(path);
    return [path, ...linksTo(isAbsolute(target) ? target : resolve(dirname(path), target))];
  } catch {
    // Not a link: the program itself, possibly reached through a linked folder.
    return [...new Set([path, realpathSync(path)])];
  }
}
