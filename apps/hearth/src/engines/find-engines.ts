import { existsSync, readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import type { EngineLocations, EngineProgram } from "./engine-programs.ts";

/** Folders of package managers that may be missing from a service's PATH. */
const commonFolders = ["/usr/local/bin", "/opt/homebrew/bin", "/snap/bin"];
export const builtIn: EngineProgram = { kind: "binding" };
const isWindows = process.platform === "win32";

/** Every installed engine, the built-in one first. Nothing is started, so an engine may turn out not to work. */
export function findEngines(locations: EngineLocations): readonly EngineProgram[] {
  const buildFolder = findBuild(locations.folder);
  const llamaServer = findLlamaServer(locations);
  return [
    builtIn,
    ...(buildFolder === undefined ? [] : [{ kind: "binding", buildFolder } as const]),
    ...(llamaServer === undefined ? [] : [{ kind: "llama-server", path: llamaServer } as const]),
    ...findEnvironment(locations.folder),
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

function findLlamaServer({ llamaServer, searchPath }: EngineLocations): string | undefined {
  // If the configured path does not exist, falling back to another program would be surprising.
  if (llamaServer !== undefined) return isProgram(llamaServer) ? llamaServer : undefined;
  return findTool(["llama-server"], [...searchPath, ...commonFolders]);
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
