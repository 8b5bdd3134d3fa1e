import { chmod, cp, mkdir, readdir, rename, rm } from "node:fs/promises";
import { join } from "node:path";
import { compileTarget, findBuildTools, withoutAmx } from "./build-tools.ts";
import type { EngineLocations, EngineProgram } from "./engine-programs.ts";
import { findSource, unpackLlama } from "./engine-source.ts";
import { compiledServerFolder } from "./find-engines.ts";
import type { InstallOptions } from "./install-xllamacpp.ts";
import { openStagingFolder } from "./staging-folder.ts";

export type BuildOptions = Pick<InstallOptions, "onStep" | "signal"> & { readonly timeoutSeconds?: number };

/**
 * Compiles llama.cpp's own server from the source in the binding's package, completely or not at all. Needs no network.
 * The kernels for every generation of CPUs are libraries of their own, as in the binding; the server selects one when
 * it starts.
 */
export async function buildLlamaServer(
  locations: EngineLocations,
  { onStep, signal, timeoutSeconds }: BuildOptions,
): Promise<EngineProgram> {
  const tools = findBuildTools(locations.searchPath);
  const source = await findSource();
  await using staging = await openStagingFolder(locations.folder, "llama-server");
  await mkdir(staging.path);
  onStep("Unpacking the source of llama.cpp");
  const sourceFolder = join(staging.path, "source");
  await unpackLlama(sourceFolder, { source, git: tools.git, signal });
  const compiler = tools.clang === undefined ? "without AMX, which needs clang," : "with clang";
  onStep(`Compiling llama.cpp's server ${compiler} for all CPUs; this can take half an hour`);
  const outputFolder = join(staging.path, "output");
  const settings = { ...serverSettings, ...compilerSettings(tools.clang) };
  await compileTarget({
    tools,
    sourceFolder,
    outputFolder,
    settings,
    target: "llama-server",
    onStep,
    signal,
    timeoutSeconds,
  });
  const assembled = join(staging.path, "program");
  await copyProgram(join(outputFolder, "bin"), assembled);
  const folder = compiledServerFolder(locations.folder, source.version);
  await rm(folder, { recursive: true, force: true });
  await rename(assembled, folder);
  return { kind: "llama-server", path: join(folder, "llama-server"), isCompiled: true };
}

/** CMake can compile kernels for all CPUs of these architectures only. */
const hasVariants = process.arch === "x64" || process.arch === "arm64";

const serverSettings: Readonly<Record<string, string>> = {
  CMAKE_BUILD_TYPE: "Release",
  BUILD_SHARED_LIBS: "ON",
  // The program finds its libraries next to itself, wherever that is.
  CMAKE_BUILD_WITH_INSTALL_RPATH: "ON",
  CMAKE_INSTALL_RPATH: "$ORIGIN",
  GGML_NATIVE: hasVariants ? "OFF" : "ON",
  GGML_BACKEND_DL: hasVariants ? "ON" : "OFF",
  GGML_CPU_ALL_VARIANTS: hasVariants ? "ON" : "OFF",
  // Like the binding's own packages: llama.cpp's threads need no library of the compiler.
  GGML_OPENMP: "OFF",
  GGML_CCACHE: "OFF",
  LLAMA_BUILD_TOOLS: "ON",
  LLAMA_BUILD_SERVER: "ON",
  ...Object.fromEntries(
    ["TESTS", "EXAMPLES", "APP", "UI", "BORINGSSL"].map((name) => [`LLAMA_BUILD_${name}`, "OFF"]),
  ),
  // Would download pages, and call other servers.
  ...Object.fromEntries(["USE_PREBUILT_UI", "CURL", "OPENSSL"].map((name) => [`LLAMA_${name}`, "OFF"])),
  FETCHCONTENT_FULLY_DISCONNECTED: "ON",
};

function compilerSettings(
  clang: { readonly c: string; readonly cxx: string } | undefined,
): Readonly<Record<string, string>> {
  return clang === undefined ? withoutAmx : { CMAKE_C_COMPILER: clang.c, CMAKE_CXX_COMPILER: clang.cxx };
}

/** The program and its libraries, of which some are links to others. */
async function copyProgram(from: string, to: string): Promise<void> {
  await mkdir(to);
  for (const name of await readdir(from)) {
    if (name !== "llama-server" && !/\.so(?:\.|$)/u.test(name)) continue;
    await cp(join(from, name), join(to, name), { verbatimSymlinks: true });
  }
  await chmod(join(to, "llama-server"), 0o755);
}
