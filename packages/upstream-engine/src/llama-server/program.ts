import { execFile } from "node:child_process";
import { existsSync, readlinkSync, realpathSync } from "node:fs";
import { dirname, isAbsolute, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { llamaServerArgs } from "./llama-server-args.ts";
import type { StartPlan } from "./start-plan.ts";

export type LlamaServerProgram =
  /** A `llama-server` of llama.cpp. */
  | { readonly kind: "llama-server"; readonly path: string }
  /** A Python with the package `xllamacpp`. */
  | { readonly kind: "xllamacpp"; readonly interpreter: string };

export type ProgramLaunch = {
  readonly program: string;
  readonly words: readonly string[];
  /** What it is read from beside the machine's libraries. */
  readonly places: readonly string[];
  readonly environment: Readonly<Record<string, string>>;
  /** What it reads on standard input, which then stays open as long as we live. */
  readonly input: string;
};

/** Beside this file in a clone, beside the program where it is installed. */
const launcher = fileURLToPath(
  import.meta.url.endsWith(".ts")
    ? new URL("launch.py", import.meta.url)
    : new URL("./engine/launch.py", import.meta.url),
);
const pythonEnvironment = { PYTHONUTF8: "1", PYTHONDONTWRITEBYTECODE: "1" };

/** How a program is started for a plan, and what it must see to run. */
export async function planProgram(
  program: LlamaServerProgram,
  plan: StartPlan,
  keyFile: string,
): Promise<ProgramLaunch> {
  if (program.kind === "llama-server") {
    const places = placesOfBinary(program.path);
    const words = llamaServerArgs(plan, keyFile);
    return { program: program.path, words, places, environment: {}, input: "" };
  }
  const { interpreter } = program;
  return {
    program: interpreter,
    words: ["-I", launcher],
    places: [launcher, ...(await placesOfPython(interpreter))],
    environment: pythonEnvironment,
    input: `${JSON.stringify(plan)}\n`,
  };
}

/** Folders full of other programs, which stay outside. */
const sharedFolders = new Set(["/usr/bin", "/usr/local/bin", "/bin"]);

/** The program, the links on the way to it, and the libraries that are built beside it or into a folder next to it. */
function placesOfBinary(path: string): readonly string[] {
  const folder = dirname(realpathSync(path));
  const libraries = join(folder, "../lib");
  return [
    ...linksTo(path),
    ...(sharedFolders.has(folder) ? [] : [folder]),
    ...(existsSync(libraries) && libraries !== "/usr/lib" ? [libraries] : []),
  ];
}

const question = "import json, sys; print(json.dumps([sys.prefix, sys.base_prefix, sys.path]))";

/** An environment has its packages in one folder and its standard library in another, which may be anywhere. */
async function placesOfPython(interpreter: string): Promise<readonly string[]> {
  const { stdout } = await promisify(execFile)(interpreter, ["-I", "-c", question], {
    env: pythonEnvironment,
    timeout: 30_000,
  });
  // Printed by our own line.
  const [prefix, base, path] = JSON.parse(stdout) as [string, string, readonly string[]];
  const folders = [base, prefix].filter((folder) => folder !== "/usr");
  const outside = path.filter((each) => !each.startsWith("/usr/lib/") && existsSync(each));
  return [...linksTo(interpreter), ...folders, ...outside];
}

/** A path and every link that it leads through: a locked-in program finds nothing that is not shown to it. */
function linksTo(path: string): readonly string[] {
  try {
    const target = readlinkSync(path);
    return [path, ...linksTo(isAbsolute(target) ? target : resolve(dirname(path), target))];
  } catch {
    // Not a link: the program itself, or the same one by a folder that is a link.
    return [...new Set([path, realpathSync(path)])];
  }
}
