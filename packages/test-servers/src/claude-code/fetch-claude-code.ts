/**
 * @module
 * Claude Code, the agent that many people run against a server of the messages family: a program of its own, fetched
 * into the cache as a package and never installed. Promises the very bytes that the tests were written with.
 * Imported, through the package's index, by the conformance tests.
 */
import { execFile } from "node:child_process";
import { rm } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { cacheFolder, downloadEnvironment } from "../config.ts";
import { makeOnce } from "../create-once.ts";
import { refuseOtherContent } from "../models/refuse-other-content.ts";

const run = promisify(execFile);
const version = "2.1.325";
const archive = {
  file: `anthropic-ai-claude-code-linux-x64-${version}.tgz`,
  sha256: "e8735d37521f49c31d65c3dcd8c0c8babe6d1f5f72c2066346b3ae88d32ac31d",
};
const withinMilliseconds = 600_000;

/** The path of the program; the first call of all fetches it, 170 MB. */
export async function fetchClaudeCode(): Promise<string> {
  const folder = await makeOnce({ path: join(cacheFolder, `claude-code-${version}`), make: fetch });
  return join(folder, "package/claude");
}

async function fetch(folder: string): Promise<void> {
  const options = { cwd: folder, timeout: withinMilliseconds, env: downloadEnvironment() };
  await run("npm", ["pack", "--silent", `@anthropic-ai/claude-code-linux-x64@${version}`], options);
  await refuseOtherContent(folder, [archive]);
  await run("tar", ["-xzf", archive.file], options);
  await rm(join(folder, archive.file));
}
