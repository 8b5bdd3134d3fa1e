/**
 * @module
 * gitleaks, a widely used scanner for leaked tokens, built once from its released source into the cache.
 * Guarantees the pinned version, verified by Go against its checksum database.
 * Imported, through the package's index, by the tests of the rule that we ship.
 */
import { execFile } from "node:child_process";
import { mkdir, rm } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { cacheFolder, downloadEnvironment } from "../config.ts";
import { createOnce } from "../create-once.ts";

const run = promisify(execFile);
const version = "8.30.1";
const timeoutMilliseconds = 900_000;

/** The path of the program; the first call builds it, which takes a minute or two and needs Go. */
export async function prepareGitleaks(): Promise<string> {
  const folder = await createOnce({ path: join(cacheFolder, `gitleaks-${version}`), create: build });
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
  await run("go", ["install", source], { env, timeout: timeoutMilliseconds }).catch((cause) => {
    throw new Error(
      "Cannot build gitleaks: install Go 1.24 or newer (Debian: golang) and allow it to download modules",
      {
        cause,
      },
    );
  });
  await rm(work, { recursive: true, force: true });
}
