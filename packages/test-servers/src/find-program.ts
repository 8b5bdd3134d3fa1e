import { access, constants } from "node:fs/promises";
import { delimiter, join } from "node:path";
import { childEnvironment } from "./config.ts";

type ProgramSearch = {
  /** Debian's paths, tried before PATH. */
  readonly knownPaths: readonly string[];
  readonly names: readonly string[];
  readonly debianPackage: string;
};

export async function findProgram({ knownPaths, names, debianPackage }: ProgramSearch): Promise<string> {
  const folders = (childEnvironment()["PATH"] ?? "").split(delimiter);
  const candidates = [...knownPaths, ...folders.flatMap((folder) => names.map((name) => join(folder, name)))];
  for (const candidate of candidates) {
    if (await isExecutable(candidate)) return candidate;
  }
  throw new Error(
    `Cannot find the program "${names.join('" or "')}": install the Debian package "${debianPackage}"`,
  );
}

async function isExecutable(path: string): Promise<boolean> {
  try {
    await access(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}
