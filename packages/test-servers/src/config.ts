import { homedir } from "node:os";
import { join } from "node:path";

/** Cache of downloads, the Python environment and test models between runs; always outside the clone. */
export const cacheFolder: string =
  process.env["HEARTH_AND_KEEP_CACHE"] ??
  join(process.env["XDG_CACHE_HOME"] ?? join(homedir(), ".cache"), "hearth-and-keep");

const runCacheVariable = "TEST_RUN_CACHE";
const compileCacheVariable = "NODE_COMPILE_CACHE";

/** A folder that lasts for one run of the test runner; undefined outside of one. */
export function runCacheFolder(): string | undefined {
  return process.env[runCacheVariable];
}

/** For this process and those that the test runner starts later. */
export function setRunCacheFolder(path: string): void {
  process.env[runCacheVariable] = path;
}

/** When set, a folder in memory, for files that are written often and need not survive anything. */
export const memoryFolder: string | undefined = process.env["TEST_MEMORY_FOLDER"];

/** When set, screenshots of tests are saved here; otherwise none are written. */
export const screenshotFolder: string | undefined = process.env["SCREENSHOTS"];

/** The variables by which a Node child finds its IPC channel, for a sandbox that clears the environment. */
export const ipcEnvironment = { NODE_CHANNEL_FD: "3", NODE_CHANNEL_SERIALIZATION_MODE: "advanced" } as const;

/** Hearth's default seed under test, so that real weights give the same output for the same prompt. */
export const seededEnvironment = { HEARTH_SEED: "1" } as const;

/** The run's cache of compiled code, for a program with an environment of its own, which starts twice as fast with it. */
export function compileCacheEnvironment(): Readonly<Record<string, string>> {
  const folder = process.env[compileCacheVariable];
  return folder === undefined ? {} : { [compileCacheVariable]: folder };
}

/** The environment of a process that a test starts: enough to find programs, without anything that could leak. */
export function childEnvironment(): Record<string, string> {
  const passed = [
    "PATH",
    "HOME",
    "LANG",
    "TMPDIR",
    "HEARTH_AND_KEEP_CACHE",
    "HEARTH_AND_KEEP_RUN",
    compileCacheVariable,
    runCacheVariable,
  ];
  const found = passed.flatMap((name) => {
    const value = process.env[name];
    return value === undefined ? [] : [[name, value] as const];
  });
  return { ...Object.fromEntries(found), ...seededEnvironment };
}

/** Adds the variables that package managers need to reach a registry through a mirror or a proxy. */
export function downloadEnvironment(): Record<string, string> {
  const passed =
    /^(npm_config_.+|PIP_.+|https?_proxy|no_proxy|all_proxy|SSL_CERT_FILE|SSL_CERT_DIR|REQUESTS_CA_BUNDLE|NODE_EXTRA_CA_CERTS)$/i;
  const found = Object.entries(process.env).flatMap(([name, value]) =>
    value !== undefined && passed.test(name) ? [[name, value] as const] : [],
  );
  return { ...childEnvironment(), ...Object.fromEntries(found) };
}
