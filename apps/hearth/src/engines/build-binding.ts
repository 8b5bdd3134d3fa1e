import { constants } from "node:fs";
import { copyFile, cp, mkdir, readdir, readFile, rename, rm, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { BuildOptions } from "./build-llama-server.ts";
import { type BuildTools, compileTarget, findBuildTools, withoutAmx } from "./build-tools.ts";
import type { EngineLocations, EngineProgram } from "./engine-programs.ts";
import { type EngineSource, findSource, unpackLlama } from "./engine-source.ts";
import { openStagingFolder } from "./staging-folder.ts";

const platform = `${process.platform}-${process.arch}`;
const metadataFile = "_nlcBuildMetadata.json";

/** Compiles the binding for this processor from the source in its package, completely or not at all. Needs no network. */
export async function buildBinding(
  locations: EngineLocations,
  options: BuildOptions,
): Promise<EngineProgram> {
  const { onStep } = options;
  const tools = findBuildTools(locations.searchPath);
  const source = await findSource();
  const folder = join(locations.folder, `binding-${source.version}`);
  await using staging = await openStagingFolder(locations.folder, "binding");
  const context: BuildContext = { staging: staging.path, source, tools, options };
  onStep("Unpacking the source of llama.cpp");
  await unpack(context);
  onStep("Compiling the built-in engine for this CPU; this takes several minutes");
  await compile(context);
  await assemblePackage(context);
  await rm(folder, { recursive: true, force: true });
  await rename(join(staging.path, "package"), folder);
  return { kind: "binding", buildFolder: folder };
}

type BuildContext = {
  readonly staging: string;
  readonly source: EngineSource;
  readonly tools: BuildTools;
  readonly options: BuildOptions;
};

/** Like the package's own tool: llama.cpp next to the addon. */
async function unpack({ staging, source, tools, options }: BuildContext): Promise<void> {
  const target = join(staging, "source");
  await cp(source.folder, target, {
    recursive: true,
    filter: (path) => !/(?:gitRelease\.bundle|\/localBuilds|\/xpack)$/u.test(path),
  });
  await unpackLlama(join(target, "llama.cpp"), { source, git: tools.git, signal: options.signal });
  // CMake resolves these headers with Node from the folder of the source.
  await mkdir(join(target, "node_modules"));
  await symlink(source.addonHeaders, join(target, "node_modules", "node-addon-api"));
}

async function compile({ staging, source, tools, options }: BuildContext): Promise<void> {
  const settings = {
    CMAKE_BUILD_TYPE: "Release",
    CMAKE_JS_INC: source.nodeHeaders,
    GGML_NATIVE: "ON",
    ...withoutAmx,
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
  await compileTarget({
    tools,
    sourceFolder: join(staging, "source"),
    outputFolder: join(staging, "output"),
    settings,
    target: "llama-addon",
    onStep: options.onStep,
    signal: options.signal,
    timeoutSeconds: options.timeoutSeconds,
  });
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
