import { readdir, readFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { missingTool } from "./engine-programs.ts";
import { runTool } from "./run-tool.ts";

/** The source in the binding's package, and the headers that it needs. */
export type EngineSource = {
  readonly version: string;
  /** CMake files, the addon's source, and llama.cpp's source as a git bundle. */
  readonly folder: string;
  readonly addonHeaders: string;
  readonly nodeHeaders: string;
};

/** The binding's package is present in a clone of the repository; an installed Hearth has it only if the user added it. */
export async function findSource(): Promise<EngineSource> {
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

export type UnpackOptions = {
  readonly source: EngineSource;
  readonly git: string;
  readonly signal: AbortSignal | undefined;
};

/** Unpacks llama.cpp into a new folder, with the package's patches applied. */
export async function unpackLlama(target: string, { source, git, signal }: UnpackOptions): Promise<void> {
  const step = { step: "unpack the source", command: git, ...(signal && { signal }) };
  const clone = ["-c", "advice.detachedHead=false", "clone", "--quiet"];
  await runTool({ ...step, args: [...clone, join(source.folder, "gitRelease.bundle"), target] });
  const patches = join(source.folder, "patches");
  for (const patch of (await readdir(patches)).toSorted()) {
    await runTool({ ...step, folder: target, args: ["apply", join(patches, patch)] });
  }
}
