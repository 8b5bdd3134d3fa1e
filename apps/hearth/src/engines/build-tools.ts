import { existsSync } from "node:fs";
import { availableParallelism, totalmem } from "node:os";
import { basename, dirname, join } from "node:path";
import { missingTool } from "./engine-programs.ts";
import { findTool } from "./find-engines.ts";
import { runTool } from "./run-tool.ts";

export type BuildTools = {
  readonly cmake: string;
  readonly git: string;
  readonly generator: readonly string[];
  /** Called directly: CMake would not pass on a signal, and the compilers would go on. */
  readonly ninjaOrMake: string;
  /** Absent if only another compiler is on the PATH, which CMake finds itself. */
  readonly clang: { readonly c: string; readonly cxx: string } | undefined;
};

/**
 * Disables AMX: GCC 12 drops most stores to the tile configuration, and the first tile instruction then crashes the
 * process.
 */
export const withoutAmx: Readonly<Record<string, string>> = Object.fromEntries(
  ["C", "CXX"].map((language) => [`CMAKE_${language}_FLAGS`, "-U__AMX_INT8__"]),
);

const newestClang = 24;
const oldestClang = 14;
const clangNames = [
  "clang++",
  ...Array.from(
    { length: newestClang - oldestClang + 1 },
    (_none, index) => `clang++-${newestClang - index}`,
  ),
];

export function findBuildTools(searchPath: readonly string[]): BuildTools {
  if (process.platform !== "linux") throw missingTool("linux");
  const cmake = findTool(["cmake"], searchPath);
  if (cmake === undefined) throw missingTool("cmake");
  const git = findTool(["git"], searchPath);
  if (git === undefined) throw missingTool("git");
  const ninja = findTool(["ninja"], searchPath);
  const ninjaOrMake = ninja ?? findTool(["make"], searchPath);
  const clang = findClang(searchPath);
  const hasCompiler = clang !== undefined || findTool(["c++", "g++"], searchPath) !== undefined;
  if (!hasCompiler || ninjaOrMake === undefined) throw missingTool("compiler");
  const generator = ninja === undefined ? [] : ["-G", "Ninja", `-DCMAKE_MAKE_PROGRAM=${ninja}`];
  return { cmake, git, generator, ninjaOrMake, clang };
}

/** Debian's versioned packages have no program without a version in its name. */
function findClang(searchPath: readonly string[]): BuildTools["clang"] {
  return clangNames
    .map((name) => findTool([name], searchPath))
    .filter((path) => path !== undefined)
    .map((cxx) => ({ cxx, c: join(dirname(cxx), basename(cxx).replace("clang++", "clang")) }))
    .find(({ c }) => existsSync(c));
}

export type Compilation = {
  readonly tools: BuildTools;
  readonly sourceFolder: string;
  readonly outputFolder: string;
  /** Variables of CMake. */
  readonly settings: Readonly<Record<string, string>>;
  readonly target: string;
  readonly onStep: (message: string) => void;
  readonly signal: AbortSignal | undefined;
  readonly timeoutSeconds?: number | undefined;
};

/** Several times as long as on two shared cores. */
const defaultTimeoutSeconds = 2 * 3600;
/** llama.cpp's largest files need about this much. */
const bytesPerCompiler = 1.5e9;

/** Compiles one target within a bounded time, behind everything else that this machine does. */
export async function compileTarget(compilation: Compilation): Promise<void> {
  const { tools, sourceFolder, outputFolder, settings, target, onStep, signal } = compilation;
  const step = {
    step: "compile the engine",
    isBackground: true,
    timeoutSeconds: compilation.timeoutSeconds ?? defaultTimeoutSeconds,
    ...(signal && { signal }),
  };
  const flags = Object.entries(settings).map(([name, value]) => `-D${name}=${value}`);
  const args = ["-S", sourceFolder, "-B", outputFolder, ...tools.generator, ...flags];
  await runTool({ ...step, command: tools.cmake, args });
  const compilers = Math.max(1, Math.min(availableParallelism(), Math.floor(totalmem() / bytesPerCompiler)));
  await runTool({
    ...step,
    command: tools.ninjaOrMake,
    args: ["-C", outputFolder, "-j", String(compilers), target],
    onLine: reportProgress(onStep),
  });
}

/** Reports each tenth once; ninja begins its lines with "[3/40]", make with "[  7%]". */
function reportProgress(onStep: (message: string) => void): (line: string) => void {
  const startedAt = performance.now();
  let reported = 0;
  return (line) => {
    const found = /^\[\s*(\d+)(?:\/(\d+)|%)\]/u.exec(line);
    if (found === null) return;
    const tenths = Math.floor((Number(found[1]) * 10) / Number(found[2] ?? 100));
    if (tenths <= reported) return;
    reported = tenths;
    onStep(`Compiled ${tenths * 10} % after ${formatDuration(performance.now() - startedAt)}`);
  };
}

function formatDuration(milliseconds: number): string {
  const seconds = Math.round(milliseconds / 1000);
  return seconds < 60 ? `${seconds} s` : `${Math.floor(seconds / 60)} min ${seconds % 60} s`;
}
