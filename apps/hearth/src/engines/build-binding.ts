import { constants } from "node:fs";
import { copyFile, cp, mkdir, readdir, readFile, rename, rm, symlink, writeFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { availableParallelism } from "node:os";
import { dirname, join } from "node:path";
import { FailureError } from "@hearth-and-keep/failures";
import type { EnginePlaces, EngineProgram, EngineSetupFailure, MissingTool } from "./engine-programs.ts";
import { findTool } from "./find-engines.ts";
import type { InstallParts } from "./install-xllamacpp.ts";
import { runTool } from "./run-tool.ts";
import { openUnfinishedFolder } from "./unfinished-folder.ts";

const platform = `${process.platform}-${process.arch}`;
/**
 * Matrix tiles are left out: GCC 12 drops most of what is stored into their configuration, and the first tile
 * instruction then ends the process.
 */
const withoutTiles = "-U__AMX_INT8__";
const metadataFile = "_nlcBuildMetadata.json";

/** What the binding's package says of itself, and what its source needs beside it. */
type BindingSource = {
  readonly version: string;
  /** CMake's files, the addon's source, and llama.cpp's own as a bundle of git. */
  readonly folder: string;
  readonly addonHeaders: string;
  readonly nodeHeaders: string;
};

/** The binding compiled for this very processor, from the source in its package; a whole one, or none. No network. */
export async function buildBinding(
  places: EnginePlaces,
  { tell, signal }: InstallParts,
): Promise<EngineProgram> {
  if (process.platform !== "linux") throw missing("linux");
  const tools = findTools(places.searchPath);
  const source = await findSource();
  const folder = join(places.folder, `binding-${source.version}`);
  await using unfinished = await openUnfinishedFolder(places.folder, "binding");
  const work: Work = { unfinished: unfinished.path, source, tools, signal };
  tell("Unpacking the source of llama.cpp");
  await unpack(work);
  tell("Compiling for this processor: some minutes, on every core");
  await compile(work);
  await layOut(work);
  await rm(folder, { recursive: true, force: true });
  await rename(join(unfinished.path, "package"), folder);
  return { kind: "binding", buildFolder: folder };
}

type Tools = { readonly cmake: string; readonly git: string; readonly generator: readonly string[] };

type Work = {
  readonly unfinished: string;
  readonly source: BindingSource;
  readonly tools: Tools;
  readonly signal: AbortSignal | undefined;
};

function findTools(searchPath: readonly string[]): Tools {
  const cmake = findTool(["cmake"], searchPath);
  if (cmake === undefined) throw missing("cmake");
  const git = findTool(["git"], searchPath);
  if (git === undefined) throw missing("git");
  const hasNinja = findTool(["ninja"], searchPath) !== undefined;
  const hasMake = findTool(["make"], searchPath) !== undefined;
  const hasCompiler = findTool(["c++", "g++", "clang++"], searchPath) !== undefined;
  if (!hasCompiler || !(hasNinja || hasMake)) throw missing("compiler");
  return { cmake, git, generator: hasNinja ? ["-G", "Ninja"] : [] };
}

/** The binding's package is beside us in a clone; in an installed program it is there when a person put it there. */
async function findSource(): Promise<BindingSource> {
  try {
    const entrance = createRequire(import.meta.url).resolve("node-llama-cpp");
    const home = join(dirname(entrance), "..");
    const { version } = JSON.parse(await readFile(join(home, "package.json"), "utf8"));
    const theirs = createRequire(entrance);
    return {
      version,
      folder: join(home, "llama"),
      addonHeaders: dirname(theirs.resolve("node-addon-api/package.json")),
      nodeHeaders: join(dirname(theirs.resolve("node-api-headers/package.json")), "include"),
    };
  } catch (cause) {
    throw missing("engine-source", cause);
  }
}

function missing(tool: MissingTool, cause?: unknown): FailureError<EngineSetupFailure> {
  return new FailureError<EngineSetupFailure>({ kind: "tool-missing", tool }, { cause });
}

/** As the package's own tool does it: llama.cpp beside the addon, with the package's patches. */
async function unpack({ unfinished, source, tools, signal }: Work): Promise<void> {
  const target = join(unfinished, "source");
  await cp(source.folder, target, {
    recursive: true,
    filter: (path) => !/(?:gitRelease\.bundle|\/localBuilds|\/xpack)$/u.test(path),
  });
  const step = { step: "unpack the source", command: tools.git, ...(signal && { signal }) };
  const quietly = ["-c", "advice.detachedHead=false", "clone", "--quiet"];
  const llama = join(target, "llama.cpp");
  await runTool({ ...step, words: [...quietly, join(source.folder, "gitRelease.bundle"), llama] });
  for (const patch of (await readdir(join(target, "patches"))).toSorted()) {
    await runTool({ ...step, folder: llama, words: ["apply", join(target, "patches", patch)] });
  }
  // CMake asks Node for these headers from the source's own folder.
  await mkdir(join(target, "node_modules"));
  await symlink(source.addonHeaders, join(target, "node_modules", "node-addon-api"));
}

async function compile({ unfinished, source, tools, signal }: Work): Promise<void> {
  const settings = {
    CMAKE_BUILD_TYPE: "Release",
    CMAKE_JS_INC: source.nodeHeaders,
    GGML_NATIVE: "ON",
    ...Object.fromEntries(["C", "CXX"].map((language) => [`CMAKE_${language}_FLAGS`, withoutTiles])),
    GGML_OPENMP: "ON",
    GGML_CCACHE: "OFF",
    GGML_BUILD_NUMBER: "1",
    // What would be built for programs that we do not use, or link libraries that we do not need.
    ...Object.fromEntries(
      ["TESTS", "TOOLS", "EXAMPLES", "SERVER", "BORINGSSL"].map((name) => [`LLAMA_BUILD_${name}`, "OFF"]),
    ),
    ...Object.fromEntries(["CURL", "HTTPLIB", "OPENSSL"].map((name) => [`LLAMA_${name}`, "OFF"])),
    NLC_CURRENT_PLATFORM: platform,
    NLC_TARGET_PLATFORM: platform,
    NLC_VARIANT: "local",
  };
  const step = { step: "compile the engine", command: tools.cmake, ...(signal && { signal }) };
  const output = join(unfinished, "output");
  const flags = Object.entries(settings).map(([name, value]) => `-D${name}=${value}`);
  await runTool({
    ...step,
    words: ["-S", join(unfinished, "source"), "-B", output, ...tools.generator, ...flags],
  });
  const cores = String(availableParallelism());
  await runTool({ ...step, words: ["--build", output, "--target", "llama-addon", "--parallel", cores] });
}

/** As the binding's own packages are, so that it finds there what it looks for. */
async function layOut({ unfinished, source }: Work): Promise<void> {
  const output = join(unfinished, "output");
  const bins = join(unfinished, "package", "bins", platform);
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
    // The binding then tries a build in a child before it loads it.
    platformInfo: { name: "unknown", version: "unknown" },
    arch: process.arch,
    gpu: false,
    llamaCpp: { repo: llamaCppGithubRepo, release: tag },
  };
  await writeFile(join(bins, metadataFile), JSON.stringify({ buildOptions }));
  const answer = JSON.stringify({ packageVersion: source.version });
  const folder = join(unfinished, "package");
  await writeFile(join(folder, "package.json"), '{ "type": "module" }\n');
  await writeFile(
    join(folder, "index.js"),
    `import { join } from "node:path";\nexport const getBinsDir = () => ({ binsDir: join(import.meta.dirname, "bins"), ...${answer} });\n`,
  );
}
