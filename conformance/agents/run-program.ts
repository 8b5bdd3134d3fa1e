import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { FakeEngineScript } from "@hearth-and-keep/engine/testing";
import { makeTemporaryFolder, seededEnvironment } from "@hearth-and-keep/test-servers";
import { program as hearth } from "../terminal/terminal-window.ts";
import { type AgentServer, agentKey, startAgentServer, textModel } from "./agent-server.ts";

/** A server, and a user with an empty home folder and a folder to work in. */
export type Workspace = AsyncDisposable & {
  readonly server: AgentServer;
  readonly home: string;
  readonly work: string;
  /** Writes a file into the folder to work in, and returns its path. */
  write(name: string, content: string | Uint8Array): Promise<string>;
  read(name: string): Promise<string>;
};

export async function openWorkspace(script: FakeEngineScript): Promise<Workspace> {
  await using stack = new AsyncDisposableStack();
  const folder = stack.use(await makeTemporaryFolder("agent"));
  const [home, work] = [join(folder.path, "home"), join(folder.path, "work")];
  await mkdir(home);
  await mkdir(work);
  const server = stack.use(await startAgentServer(script));
  const resources = stack.move();
  return {
    server,
    home,
    work,
    async write(name, content) {
      await writeFile(join(work, name), content);
      return join(work, name);
    },
    read: (name) => readFile(join(work, name), "utf8"),
    [Symbol.asyncDispose]: () => resources.disposeAsync(),
  };
}

export type ProgramRun = {
  readonly workspace: Workspace;
  readonly args: readonly string[];
  readonly environment: Readonly<Record<string, string>>;
};

export type ProgramResult = {
  readonly code: number | null;
  readonly output: string;
  readonly errors: string;
};

/** Runs a program without a terminal until it ends. */
export async function runProgram(
  command: string,
  { workspace, args, environment }: ProgramRun,
): Promise<ProgramResult> {
  const { home, work } = workspace;
  const child = spawn(command, args, {
    cwd: work,
    env: {
      PATH: systemFolders,
      LANG: "C.UTF-8",
      HOME: home,
      TMPDIR: home,
      ...seededEnvironment,
      ...environment,
    },
    stdio: ["ignore", "pipe", "pipe"],
    timeout: 400_000,
  });
  let [output, errors] = ["", ""];
  child.stdout.on("data", (chunk: Buffer) => (output += chunk.toString("utf8")));
  child.stderr.on("data", (chunk: Buffer) => (errors += chunk.toString("utf8")));
  // Node documents the arguments of "close" as the exit code and the signal.
  const [code] = (await once(child, "close")) as [number | null];
  return { code, output, errors };
}

export type Launch = {
  /** As `hearth launch` names it. */
  readonly name: string;
  /** The folder of its executable. */
  readonly folder: string;
  readonly model?: string;
  readonly environment?: Readonly<Record<string, string>>;
};

/** `hearth launch` alone decides the server, the model and the key. */
export function launchAgent(
  workspace: Workspace,
  args: readonly string[],
  { name, folder, model = textModel, environment = {} }: Launch,
): Promise<ProgramResult> {
  return runProgram(process.execPath, {
    workspace,
    args: [hearth, "launch", name, "--model", model, "--", ...args],
    environment: {
      PATH: `${folder}:${systemFolders}`,
      NODE_COMPILE_CACHE: compileCache,
      HEARTH_HOST: workspace.server.url,
      HEARTH_API_KEY: agentKey,
      ...environment,
    },
  });
}

/** One JSON value per line; other lines are messages for people. */
export function readJsonLines(output: string): readonly unknown[] {
  return output
    .split("\n")
    .filter((line) => line.startsWith("{"))
    .map((line): unknown => JSON.parse(line));
}

/** What an agent starts to get the tool `tide`. */
export const mcpCommand: readonly [string, string] = [
  process.execPath,
  fileURLToPath(new URL("mcp-server.ts", import.meta.url)),
];

/** A PDF of two paragraphs and a table. */
export const reportFile: URL = new URL(
  "../../packages/document-text/src/fixtures/written-by-reportlab.pdf",
  import.meta.url,
);

const systemFolders = "/usr/local/bin:/usr/bin:/bin";
const compileCache = fileURLToPath(new URL("../../node_modules/.cache/compiled", import.meta.url));
