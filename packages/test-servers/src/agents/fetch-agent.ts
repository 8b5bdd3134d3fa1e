/**
 * @module
 * Coding agents that people run on local models: standalone programs, each downloaded as a package into the cache and
 * never installed. Guarantees the exact versions that the tests were written for, verified by hash.
 * Imported, through the package's index, by the conformance tests.
 */
import { execFile } from "node:child_process";
import { rm } from "node:fs/promises";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { cacheFolder, downloadEnvironment } from "../config.ts";
import { createOnce } from "../create-once.ts";
import { verifyContent } from "../models/refuse-other-content.ts";
import { preparePython } from "../python/prepare-python.ts";

type AgentPackage = {
  readonly version: string;
  /** As the registry knows the build for this platform. */
  readonly name: string;
  readonly file: string;
  readonly sha256: string;
  /** The program's path in the archive. */
  readonly executable: string;
};

const packages = {
  claude: {
    version: "2.1.325",
    name: "@anthropic-ai/claude-code-linux-x64@2.1.325",
    file: "anthropic-ai-claude-code-linux-x64-2.1.325.tgz",
    sha256: "e8735d37521f49c31d65c3dcd8c0c8babe6d1f5f72c2066346b3ae88d32ac31d",
    executable: "package/claude",
  },
  codex: {
    version: "0.169.0",
    name: "@openai/codex@0.169.0-linux-x64",
    file: "openai-codex-0.169.0-linux-x64.tgz",
    sha256: "89801b4b97faba562eb80fe0a833159ac79399be674022f4b1a0ccab1d153faa",
    executable: "package/vendor/x86_64-unknown-linux-musl/bin/codex",
  },
  opencode: {
    version: "1.18.33",
    name: "opencode-linux-x64@1.18.33",
    file: "opencode-linux-x64-1.18.33.tgz",
    sha256: "149a676b59224b196626abda2fdbd34c8329ac326b57c4891ba3de446f3ca3c1",
    executable: "package/bin/opencode",
  },
} as const satisfies Readonly<Record<string, AgentPackage>>;

/** The folder of its executable, for the PATH, and the exact version. */
export type Agent = { readonly folder: string; readonly version: string };

const timeoutMilliseconds = 600_000;
const run = promisify(execFile);

/** The first call downloads the program, 60 to 170 MB. */
export async function fetchAgent(name: keyof typeof packages): Promise<Agent> {
  const { version, executable, ...archive } = packages[name];
  const folder = await createOnce({
    path: join(cacheFolder, `${name}-${version}`),
    create: (unfinished) => fetchArchive(archive, unfinished),
  });
  return { folder: dirname(join(folder, executable)), version };
}

async function fetchArchive(
  { name, ...archive }: Pick<AgentPackage, "name" | "file" | "sha256">,
  folder: string,
): Promise<void> {
  const options = { cwd: folder, timeout: timeoutMilliseconds, env: downloadEnvironment() };
  await run("npm", ["pack", "--silent", name], options);
  await verifyContent(folder, [archive]);
  await run("tar", ["-xzf", archive.file], options);
  await rm(join(folder, archive.file));
}

/** `uv pip compile` wrote it, as `scripts/python/requirements.in` describes, from `aider-chat` alone. */
export const aiderRequirements: string = fileURLToPath(
  new URL("../../../../scripts/python/aider.txt", import.meta.url),
);

/** aider is a Python package; the first call takes about two minutes and 570 MB, and needs a Python before 3.13. */
export async function prepareAider(): Promise<{ readonly interpreter: string }> {
  return preparePython({ requirements: aiderRequirements });
}
