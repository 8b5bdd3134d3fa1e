/**
 * @module
 * Hearth as a person meets it in a terminal: real tmux, real shells, the real program with a real server and real
 * weights; scripted answers only where time or faults are the subject. The ways to start the program are used by the
 * other folders here too.
 */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { type OwnedProcess, startProcess } from "@hearth-and-keep/test-servers";
import { program } from "./terminal-window.ts";

export type Ended = { readonly code: number | null; readonly output: string; readonly errors: string };

export type RunPlan = {
  readonly environment?: Readonly<Record<string, string>>;
  readonly input?: string;
  readonly folder?: string;
  /** Instead of the program in the clone. */
  readonly program?: string;
};

/** Runs one command without a terminal, as a script does. */
export async function runHearth(words: readonly string[], plan: RunPlan = {}): Promise<Ended> {
  const child = spawn(process.execPath, [plan.program ?? program, ...words], {
    env: { PATH: searchPath, LANG: "C.UTF-8", ...plan.environment },
    ...(plan.folder === undefined ? {} : { cwd: plan.folder }),
    stdio: ["pipe", "pipe", "pipe"],
  });
  let [output, errors] = ["", ""];
  child.stdout.on("data", (chunk: Buffer) => (output += chunk.toString("utf8")));
  child.stderr.on("data", (chunk: Buffer) => (errors += chunk.toString("utf8")));
  child.stdin.end(plan.input ?? "");
  // An array of the exit code and the signal, by Node's documentation.
  const [code] = (await once(child, "close")) as [number | null];
  return { code, output, errors };
}

export type ServingHearth = OwnedProcess & { readonly url: string };

/** The program itself as a server on a free port, with one thread. */
export async function serveHearth(
  words: readonly string[],
  environment: Readonly<Record<string, string>>,
): Promise<ServingHearth> {
  const owned = await startProcess({
    command: process.execPath,
    arguments: [program, "serve", "--port", "0", "--threads", "1", ...words],
    environment,
    isReady: (output) => output.includes("Hearth listens on"),
  });
  return { ...owned, url: /Hearth listens on (\S+)/u.exec(owned.output())?.[1] ?? "" };
}

const searchPath = "/usr/local/bin:/usr/bin:/bin";
