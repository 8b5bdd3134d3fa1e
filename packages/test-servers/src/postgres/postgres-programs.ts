import { access, constants, readdir } from "node:fs/promises";
import { delimiter, join } from "node:path";
import { partEnvironment } from "../config.ts";

export type PostgresPrograms = { readonly initdb: string; readonly postgres: string };

export type ProgramPaths = {
  /** A folder with one subfolder per major version, as Debian lays it out. */
  readonly versionsFolder?: string;
  readonly searchPath?: string;
};

/** The newest installed server first; Debian keeps its programs out of PATH, other systems do not. */
export async function findPostgresPrograms(places: ProgramPaths = {}): Promise<PostgresPrograms> {
  const versionsFolder = places.versionsFolder ?? "/usr/lib/postgresql";
  const searchPath = places.searchPath ?? partEnvironment()["PATH"] ?? "";
  const folders = [...(await listNewestFirst(versionsFolder)), ...searchPath.split(delimiter)];
  for (const folder of folders) {
    const programs = { initdb: join(folder, "initdb"), postgres: join(folder, "postgres") };
    if (await areExecutable(programs)) return programs;
  }
  throw new Error(
    `Cannot find PostgreSQL: neither "${versionsFolder}" nor PATH holds initdb and postgres (Debian package "postgresql")`,
  );
}

async function listNewestFirst(versionsFolder: string): Promise<readonly string[]> {
  const versions = await readdir(versionsFolder).catch(() => []);
  return versions
    .filter((version) => /^\d+$/.test(version))
    .toSorted((left, right) => Number(right) - Number(left))
    .map((version) => join(versionsFolder, version, "bin"));
}

// A folder of client programs alone has neither, so both are looked for.
async function areExecutable(programs: PostgresPrograms): Promise<boolean> {
  try {
    await access(programs.initdb, constants.X_OK);
    await access(programs.postgres, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}
