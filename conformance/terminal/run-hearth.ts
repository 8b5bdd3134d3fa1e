/**
 * @module
 * End-to-end tests of the command line: the real program in real shells under tmux, with a real server and real weights.
 * Fake responses are used only to test timing and failures. Other folders of `conformance/` use the helpers that start
 * the program.
 */
import { spawn } from "node:child_process";
import { once } from "node:events";
import {
  compileCacheEnvironment,
  type OwnedProcess,
  seededEnvironment,
  startProcess,
} from "@hearth-and-keep/test-servers";
import { program } from "./terminal-window.ts";

export type CommandResult = {
  readonly code: number | null;
  readonly output: string;
  readonly errors: string;
};

export type RunOptions = {
  readonly environment?: Readonly<Record<string, string>>;
  readonly input?: string;
  readonly folder?: string;
  /** Defaults to the program in this repository. */
  readonly program?: string;
};

/** Runs one command without a terminal, as a script does. */
export async function runHearth(args: readonly string[], options: RunOptions = {}): Promise<CommandResult> {
  const child = spawn(process.execPath, [options.program ?? program, ...args], {
    env: {
      PATH: searchPath,
      LANG: "C.UTF-8",
      ...compileCacheEnvironment(),
      ...seededEnvironment,
      ...options.environment,
    },
    ...(options.folder === undefined ? {} : { cwd: options.folder }),
    stdio: ["pipe", "pipe", "pipe"],
  });
  let [output, errors] = ["", ""];
  child.stdout.on("data", (chunk: Buffer) => (output += chunk.toString("utf8")));
  child.stderr.on("data", (chunk: Buffer) => (errors += chunk.toString("utf8")));
  child.stdin.end(options.input ?? "");
  // Node documents the arguments of "close" as the exit code and the signal.
  const [code] = (await once(child, "close")) as [number | null];
  return { code, output, errors };
}

export type HearthProcess = OwnedProcess & { readonly url: string };

/** Starts `hearth serve` on a free port with one thread. */
export async function serveHearth(
  args: readonly string[],
  environment: Readonly<Record<string, string>>,
): Promise<HearthProcess> {
  const owned = await startProcess({
    command: process.execPath,
    arguments: [program, "serve", "--port", "0", "--threads", "1", ...args],
    environment,
    isReady: (output) => output.includes("Hearth is listening on"),
  });
  return { ...owned, url: /Hearth is listening on (\S+)/u.exec(owned.output())?.[1] ?? "" };
}

const searchPath = "/usr/local/bin:/usr/bin:/bin";
