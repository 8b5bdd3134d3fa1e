import { homedir } from "node:os";
import { delimiter, join } from "node:path";

/** The environment of a started program: this process's own, and its settings. */
export function programEnvironment(settings: Readonly<Record<string, string>>): NodeJS.ProcessEnv {
  return { ...process.env, ...settings };
}

/** The folders in which executables are searched. */
export function searchFolders(): readonly string[] {
  return (process.env["PATH"] ?? "").split(delimiter).filter((folder) => folder !== "");
}

/** A folder of the user, e.g. `~/.codex`, unless its variable moves it. */
export function userFolder(folder: string, variable: string | undefined): string {
  const moved = variable === undefined ? "" : (process.env[variable]?.trim() ?? "");
  return moved === "" ? join(homedir(), folder.replace(/^~\//u, "")) : moved;
}
