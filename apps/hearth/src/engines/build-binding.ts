import { constants } from "node:fs";
import { copyFile, cp, mkdir, readdir, readFile, rename, rm, symlink, writeFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { availableParallelism } from "node:os";
import { dirname, join } from "node:path";
import { FailureError } from "@hearth-and-keep/failures";
import type { EngineLocations, EngineProgram, EngineSetupFailure, MissingTool } from "./engine-programs.ts";
import { findTool } from "./find-engines.ts";
import type { InstallOptions } from "./install-xllamacpp.ts";
import { runTool } from "./run-tool.ts";
import { openStagingFolder } from "./staging-folder.ts";

const platform = `${process.platform}-${process.arch}`;
/**
 * Disables AMX: GCC 12 drops most stores to the tile configuration, and the first tile instruction then crashes the
 * process.
 */
const withoutAmx = "-U__AMX_INT8__";
const metadataFile = "_nlcBuildMetadata.json";

/** The source in the binding's package, and the headers that it needs. */
type BindingSource = {
  readonly version: string;
  /** CMake files, the addon's source, and llama.cpp's source as a git bundle. */
  readonly folder: string;
  readonly addonHeaders: string;
  readonly nodeHeaders: string;
};

/** Compiles the binding for this processor from the source in its package, completely or not at all. Needs no network. */
export async function buildBinding(
  locations: EngineLocations,
  { onStep, signal }: InstallOptions,
): Promise<EngineProgram> {
  if (process.platform !== "linux") throw missingTool("linux");
  const tools = findTools(locations.searchPath);
  const source = await findSource();
  const folder = join(locations.folder, `binding-${source.version}`);
  await using staging = await openStagingFolder(locations.folder, "binding");
  const context: BuildContext = { staging: staging.path, source, tools, signal };
  onStep("Unpacking the source of llama.cpp");
  await unpack(context);
  onStep("Compiling for this processor; this takes several minutes and uses all cores");
  await compile(context);
  await assemblePackage(context);
  await rm(folder, { recursive: true, force: true });
  await rename(join(staging.path, "package"), folder);
  return { kind: "binding", buildFolder: folder };
}

type Tools = { readonly cmake: string; readonly git: string; readonly generator: readonly string[] };

type BuildContext = {
  readonly staging: string;
  readonly source: BindingSource;
  readonly tools: Tools;
  readonly signal: AbortSignal | undefined;
};

function findTools(searchPath: readonly string[]): Tools {
  const cmake = findTool(["cmake"], searchPath);
  if (cmake === undefined) throw missingTool("cmake");
  const git = findTool(["git"], searchPath);
  if (git === undefined) throw missingTool("git");
  const hasNinja = findTool(["ninja"], searchPath) !== undefined;
  const hasMake = findTool(["make"], searchPath) !== undefined;
  const hasCompiler = findTool(["c++", "g++", "clang++"], searchPath) !== undefined;
  if (!hasCompiler || !(hasNinja || hasMake)) throw missingTool("compiler");
  return { cmake, git, generator: hasNinja ? ["-G", "Ninja"] : [] };
}

/** The binding's package is present in a clone of the repository; an installed Hearth has it only if the user added it. */
async function findSource(): Promise<BindingSource> {
  try {
    const entryPoint = createRequire(import.meta.url).resolve("node-llama-cpp");
    const packageFolder = join(dirname(entryPoint), "..");
    const { version } = JSON.parse(await readFile(join(packageFolder, "package.json"), "utf8"));
    const packageRequire = createRequire(entryPoint);
    return {
      version,
      folder: join(packageFolder, "llama"),
      addonHeaders: dirname(packageRequire.resolve("node-addon-api/package.json")),
      nodeHeaders: join(dirname(packageRequire.resolve("node-api-headers/package.json")), "include"),
    };
  } catch (cause) {
    throw missingTool("engine-source", cause);
  }
}

function missingTool(tool: MissingTool, cause?: unknown): FailureError<EngineSetupFailure> {
  return new FailureError<EngineSetupFailure>({ kind: "tool-missing", tool }, { cause });
}

/** Like the package's own tool: llama.cpp next to the addon, with the package's patches applied. */
async function unpack({ staging, source, tools, signal }: BuildContext): Promise<void> {
  const target = join(staging, "source");
  await cp(source.folder, target, {
    recursive: true,
    filter: (path) => !/(?:gitRelease\.bundle|\/localBuilds|\/xpack)$/u.test(path),
  });
  const step = { step: "unpack the source", command: tools.git, ...(signal && { signal }) };
  const clone = ["-c", "advice.detachedHead=false", "clone", "--quiet"];
  const llama = join(target, "llama.cpp");
  await runTool({ ...step, args: [...clone, join(source.folder, "gitRelease.bundle"), llama] });
  for (const patch of (await readdir(join(target, "patches"))).toSorted()) {
    await runTool({ ...step, folder: llama, args: ["apply", join(target, "patches", patch)] });
  }
  // CMake resolves these headers with Node from the folder of the source.
  await mkdir(join(target, "node_modules"));
  await symlink(source.addonHeaders, join(target, "node_modules", "node-addon-api"));
}

async function compile({ staging, source, tools, signal }: BuildContext): Promise<void> {
  const settings = {
    CMAKE_BUILD_TYPE: "Release",
    CMAKE_JS_INC: source.nodeHeaders,
    GGML_NATIVE: "ON",
    ...Object.fromEntries(["C", "CXX"].map((language) => [`CMAKE_${language}_FLAGS`, withoutAmx])),
    GGML_OPENMP: "ON",
    GGML_CCACHE: "OFF",
    GGML_BUILD_NUMBER: "1",
    // Programs that we do not use, and libraries that we do not need.
    ...Object.fromEntries(
      ["TESTS", "TOOLS", "EXAMPLES", "SERVER", "BORINGSSL"].map((name) => [`LLAMA_BUILD_${name}`, "OFF"]),
    ),
    ...Object.fromEntries(["CURL", "HTTPLIB", "OPENSSL"].map((name) => [`LLAMA_${name}`, "OFF"])),
    NLC_CURRENT_PLATFORM: platform,
    NLC_TARGET_PLATFORM: platform,
    NLC_VARIANT: "local",
  };
  const step = { step: "compile the engine", command: tools.cmake, ...(signal && { signal }) };
  const output = join(staging, "output");
  const flags = Object.entries(settings).map(([name, value]) => `-D${name}=${value}`);
  await runTool({
    ...step,
    args: ["-S", join(staging, "source"), "-B", output, ...tools.generator, ...flags],
  });
  const cores = String(availableParallelism());
  await runTool({ ...step, args: ["--build", output, "--target", "llama-addon", "--parallel", cores] });
}

/** Assembles the layout of the binding's own packages, in which it looks for builds. */
async function assemblePackage({ staging, source }: BuildContext): Promise<void> {
  const output = join(staging, "output");
  const bins = join(staging, "package", "bins", platform);
  await mkdir(bins, { recursive: true });
  await copyFile(
    join(output, "llama-addon.node"),
    join(bins, "llama-addon.node"),
    constants.COPYFILE_FICLONE,
  );
  for (const name of await readdir(join(output, "bin"))) {
    if (name.endsWith(".so")) await copyFile(join(output, "bin", name), join(bins, name));
  }
  const release = await readFile(join(source.folder, "llama.cpp.info.json"), "utf8");
  const { tag, llamaCppGithubRepo } = JSON.parse(release);
  const buildOptions = {
    customCmakeOptions: { GGML_NATIVE: "ON", GGML_OPENMP: "ON" },
    progressLogs: false,
    platform: process.platform,
    // Unknown platforms make the binding test a build in a child process before it loads it.
    platformInfo: { name: "unknown", version: "unknown" },
    arch: process.arch,
    gpu: false,
    llamaCpp: { repo: llamaCppGithubRepo, release: tag },
  };
  await writeFile(join(bins, metadataFile), JSON.stringify({ buildOptions }));
  const properties = JSON.stringify({ packageVersion: source.version });
  const folder = join(staging, "package");
  await writeFile(join(folder, "package.json"), '{ "type": "module" }\n');
  await writeFile(
    join(folder, "index.js"),
    `import { join } from "node:path";\nexport const getBinsDir = () => ({ binsDir: join(import.meta.dirname, "bins"), ...${properties} });\n`,
  );
}
