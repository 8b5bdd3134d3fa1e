import { existsSync, readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import type { EnginePlaces, EngineProgram } from "./engine-programs.ts";

/** Where package managers put programs that a service's PATH may lack. */
const knownPlaces = ["/usr/local/bin", "/opt/homebrew/bin", "/snap/bin"];
export const builtIn: EngineProgram = { kind: "binding" };
const isWindows = process.platform === "win32";

/** Every engine that is there, whether or not it works; the one that came with us is first. Nothing is started. */
export function findEngines(places: EnginePlaces): readonly EngineProgram[] {
  const buildFolder = findBuild(places.folder);
  const llamaServer = findLlamaServer(places);
  return [
    builtIn,
    ...(buildFolder === undefined ? [] : [{ kind: "binding", buildFolder } as const]),
    ...(llamaServer === undefined ? [] : [{ kind: "llama-server", path: llamaServer } as const]),
    ...findEnvironment(places.folder),
  ];
}

/** A program's path among the folders that programs are looked for in. */
export function findTool(names: readonly string[], searchPath: readonly string[]): string | undefined {
  const endings = isWindows ? [".exe", ".cmd", ""] : [""];
  return names
    .flatMap((name) =>
      searchPath.flatMap((folder) => endings.map((ending) => join(folder, `${name}${ending}`))),
    )
    .find(isProgram);
}

/** Where an environment made by us keeps its interpreter. */
export function interpreterOf(environment: string): string {
  return isWindows ? join(environment, "Scripts", "python.exe") : join(environment, "bin", "python");
}

function findLlamaServer({ llamaServer, searchPath }: EnginePlaces): string | undefined {
  // A place that was named is used or missed: another program in its stead would surprise.
  if (llamaServer !== undefined) return isProgram(llamaServer) ? llamaServer : undefined;
  return findTool(["llama-server"], [...searchPath, ...knownPlaces]);
}

/** The newest of ours; an unfinished one has another name. */
function findEnvironment(folder: string): readonly EngineProgram[] {
  const [newest] = foldersNamed("xllamacpp-", folder);
  if (newest === undefined) return [];
  const interpreter = interpreterOf(join(folder, `xllamacpp-${newest}`));
  return isProgram(interpreter) ? [{ kind: "xllamacpp", interpreter, version: newest }] : [];
}

function findBuild(folder: string): string | undefined {
  const [newest] = foldersNamed("binding-", folder);
  return newest === undefined ? undefined : join(folder, `binding-${newest}`);
}

/** What follows a prefix in the names of folders, if it is a version, the newest first. */
function foldersNamed(prefix: string, folder: string): readonly string[] {
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
