import { access, constants, readdir } from "node:fs/promises";
import { delimiter, join } from "node:path";
import { childEnvironment } from "../config.ts";

export type PostgresPrograms = { readonly initdb: string; readonly postgres: string };

export type ProgramPaths = {
  /** A folder with one subfolder per major version, as Debian lays it out. */
  readonly versionsFolder?: string;
  readonly searchPath?: string;
};

/** Finds the newest installed server; Debian installs its programs outside PATH, other systems do not. */
export async function findPostgresPrograms(paths: ProgramPaths = {}): Promise<PostgresPrograms> {
  const versionsFolder = paths.versionsFolder ?? "/usr/lib/postgresql";
  const searchPath = paths.searchPath ?? childEnvironment()["PATH"] ?? "";
  const folders = [...(await listNewestFirst(versionsFolder)), ...searchPath.split(delimiter)];
  for (const folder of folders) {
    const programs = { initdb: join(folder, "initdb"), postgres: join(folder, "postgres") };
    if (await areExecutable(programs)) return programs;
  }
  throw new Error(
    `Cannot find PostgreSQL: neither "${versionsFolder}" nor PATH contains initdb and postgres (Debian package "postgresql")`,
  );
}

async function listNewestFirst(versionsFolder: string): Promise<readonly string[]> {
  const versions = await readdir(versionsFolder).catch(() => []);
  return versions
    .filter((version) => /^\d+$/.test(version))
    .toSorted((left, right) => Number(right) - Number(left))
    .map((version) => join(versionsFolder, version, "bin"));
}

// A client-only installation lacks these programs, so both are checked.
async function areExecutable(programs: PostgresPrograms): Promise<boolean> {
  try {
    await access(programs.initdb, constants.X_OK);
    await access(programs.postgres, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}
