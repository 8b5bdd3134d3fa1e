/**
 * @module
 * Claude Code, a widely used client of the Anthropic API: a standalone program, downloaded as a package into the cache
 * and never installed. Guarantees the exact version that the tests were written for, verified by hash.
 * Imported, through the package's index, by the conformance tests.
 */
import { execFile } from "node:child_process";
import { rm } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { cacheFolder, downloadEnvironment } from "../config.ts";
import { createOnce } from "../create-once.ts";
import { verifyContent } from "../models/refuse-other-content.ts";

const run = promisify(execFile);
const version = "2.1.325";
const archive = {
  file: `anthropic-ai-claude-code-linux-x64-${version}.tgz`,
  sha256: "e8735d37521f49c31d65c3dcd8c0c8babe6d1f5f72c2066346b3ae88d32ac31d",
};
const timeoutMilliseconds = 600_000;

/** The path of the program; the first call downloads it, 170 MB. */
export async function fetchClaudeCode(): Promise<string> {
  const folder = await createOnce({ path: join(cacheFolder, `claude-code-${version}`), create: fetch });
  return join(folder, "package/claude");
}

async function fetch(folder: string): Promise<void> {
  const options = { cwd: folder, timeout: timeoutMilliseconds, env: downloadEnvironment() };
  await run("npm", ["pack", "--silent", `@anthropic-ai/claude-code-linux-x64@${version}`], options);
  await verifyContent(folder, [archive]);
  await run("tar", ["-xzf", archive.file], options);
  await rm(join(folder, archive.file));
}
