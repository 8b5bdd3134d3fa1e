import { existsSync, readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import type { EngineLocations, EngineProgram } from "./engine-programs.ts";
import { bindingVersion, type GpuBackend, gpuBackends } from "./gpu-packages.ts";

/** Folders of package managers that may be missing from a service's PATH. */
const commonFolders = ["/usr/local/bin", "/opt/homebrew/bin", "/snap/bin"];
export const builtIn: EngineProgram = { kind: "binding" };
const isWindows = process.platform === "win32";

/** Every installed engine, the built-in one first. Nothing is started, so an engine may turn out not to work. */
export function findEngines(locations: EngineLocations): readonly EngineProgram[] {
  const buildFolder = findBuild(locations.folder);
  return [
    builtIn,
    ...(buildFolder === undefined ? [] : [{ kind: "binding", buildFolder } as const]),
    ...findLlamaServers(locations),
    ...findEnvironment(locations.folder),
    ...gpuBackends.flatMap((gpu) => findGpuEngine(locations, gpu)),
  ];
}

/** The path of the first of these programs that is in the search path. */
export function findTool(names: readonly string[], searchPath: readonly string[]): string | undefined {
  const extensions = isWindows ? [".exe", ".cmd", ""] : [""];
  return names
    .flatMap((name) =>
      searchPath.flatMap((folder) => extensions.map((extension) => join(folder, `${name}${extension}`))),
    )
    .find(isProgram);
}

/** The interpreter of a Python virtual environment. */
export function interpreterOf(environment: string): string {
  return isWindows ? join(environment, "Scripts", "python.exe") : join(environment, "bin", "python");
}

/** The one that "hearth engine build" compiled first, because it fits to this version of Hearth. */
function findLlamaServers({ folder, llamaServer, searchPath }: EngineLocations): readonly EngineProgram[] {
  // If the configured path does not exist, falling back to another program would be surprising.
  if (llamaServer !== undefined) {
    return isProgram(llamaServer) ? [{ kind: "llama-server", path: llamaServer }] : [];
  }
  const [newest] = findVersions("llama-server-", folder);
  const compiled = newest && join(compiledServerFolder(folder, newest), "llama-server");
  const installed = findTool(["llama-server"], [...searchPath, ...commonFolders]);
  return [
    ...(compiled !== undefined && isProgram(compiled)
      ? [{ kind: "llama-server", path: compiled, isCompiled: true } as const]
      : []),
    ...(installed === undefined || installed === compiled
      ? []
      : [{ kind: "llama-server", path: installed } as const]),
  ];
}

export function compiledServerFolder(folder: string, version: string): string {
  return join(folder, `llama-server-${version}`);
}

/** The newest environment that we installed. */
function findEnvironment(folder: string): readonly EngineProgram[] {
  const [newest] = findVersions("xllamacpp-", folder);
  if (newest === undefined) return [];
  const interpreter = interpreterOf(join(folder, `xllamacpp-${newest}`));
  return isProgram(interpreter) ? [{ kind: "xllamacpp", interpreter, version: newest }] : [];
}

function findBuild(folder: string): string | undefined {
  const [newest] = findVersions("binding-", folder);
  return newest === undefined ? undefined : join(folder, `binding-${newest}`);
}

/** Only the packages of our own release fit to the binding. */
function findGpuEngine({ folder, gpuDevices }: EngineLocations, gpu: GpuBackend): readonly EngineProgram[] {
  const buildFolder = gpuFolder(folder, gpu);
  if (!existsSync(join(buildFolder, "node_modules"))) return [];
  return [
    { kind: "binding", gpu, buildFolder, ...(gpuDevices === undefined ? {} : { devices: gpuDevices }) },
  ];
}

export function gpuFolder(folder: string, gpu: GpuBackend): string {
  return join(folder, `${gpu}-${bindingVersion}`);
}

/** The versions in the names of folders with this prefix, newest first. */
function findVersions(prefix: string, folder: string): readonly string[] {
  if (!existsSync(folder)) return [];
  return readdirSync(folder)
    .filter((name) => name.startsWith(prefix))
    .map((name) => name.slice(prefix.length))
    .filter((version) => /^\d+(?:\.\d+){1,3}$/u.test(version))
    .toSorted((one, other) => other.localeCompare(one, "en", { numeric: true }));
}

function isProgram(path: string): boolean {
  if (!existsSync(path)) return false;
  const found = statSync(path);
  return found.isFile() && (isWindows || (found.mode & 0o111) !== 0);
}
