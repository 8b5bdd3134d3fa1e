/**
 * @module
 * gitleaks, the scanner that people look for leaked tokens with: built once from its released source into the cache.
 * Promises the pinned version, checked by Go against its public record of modules.
 * Imported, through the package's index, by tests of the rule that we ship.
 */
import { execFile } from "node:child_process";
import { mkdir, rm } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { cacheFolder, downloadEnvironment } from "../config.ts";
import { makeOnce } from "../create-once.ts";

const run = promisify(execFile);
const version = "8.30.1";
const withinMilliseconds = 900_000;

/** The path of the program; the first call of all builds it, which takes a minute or two and needs Go. */
export async function prepareGitleaks(): Promise<string> {
  const folder = await makeOnce({ path: join(cacheFolder, `gitleaks-${version}`), make: build });
  return join(folder, "gitleaks");
}

async function build(folder: string): Promise<void> {
  const work = join(folder, "work");
  await mkdir(work);
  const env = {
    ...downloadEnvironment(),
    GOBIN: folder,
    GOPATH: join(work, "path"),
    GOCACHE: join(work, "cache"),
    GOFLAGS: "-modcacherw -trimpath",
    GOTOOLCHAIN: "local",
  };
  const source = `github.com/zricethezav/gitleaks/v8@v${version}`;
  await run("go", ["install", source], { env, timeout: withinMilliseconds }).catch((cause) => {
    throw new Error("Cannot build gitleaks: install Go 1.24 or newer (Debian: golang) and let it download", {
      cause,
    });
  });
  await rm(work, { recursive: true, force: true });
}
