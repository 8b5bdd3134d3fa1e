/**
 * @module
 * A machine with the command line and a person in front of it, for tests: real processes with a home folder of their own.
 * Imported by tests only.
 */
import { type ChildProcessWithoutNullStreams, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdir } from "node:fs/promises";
import { constants } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { childEnvironment, makeTemporaryFolder } from "@hearth-and-keep/test-servers";
import { decide } from "../../logins/test/request-login.ts";
import type { Teammate } from "../../organisations/test/start-team.ts";
import type { TestKeep } from "../../test/start-test-keep.ts";

/** The exit code as a shell reports it. */
export type Finished = { readonly code: number; readonly stdout: string; readonly stderr: string };

export type RunOptions = {
  readonly input?: string;
  readonly environment?: Readonly<Record<string, string>>;
  readonly folder?: string;
};

export type Machine = AsyncDisposable & {
  readonly home: string;
  /** The folder in which commands run. */
  readonly project: string;
  start(args: readonly string[], options?: RunOptions): ChildProcessWithoutNullStreams;
  keep(args: readonly string[], options?: RunOptions): Promise<Finished>;
  /** `keep login`, with a person who approves. */
  logIn(person: Teammate, options?: LogInOptions): Promise<Finished>;
};

type LogInOptions = {
  readonly account?: string;
  readonly args?: readonly string[];
  /** Without --no-keyring, and in this environment. */
  readonly keyring?: Readonly<Record<string, string>>;
  readonly decision?: "approve" | "deny";
};

const program = fileURLToPath(new URL("../../../bin/keep.js", import.meta.url));

export async function openMachine(keep: Pick<TestKeep, "url">): Promise<Machine> {
  const folder = await makeTemporaryFolder("keep-machine");
  const project = join(folder.path, "project");
  await mkdir(project);
  const start: Machine["start"] = (args, { environment = {}, folder: cwd = project } = {}) =>
    spawn(process.execPath, [program, ...args], {
      cwd,
      env: { ...childEnvironment(), HOME: folder.path, ...environment },
    });
  return {
    home: folder.path,
    project,
    start,
    keep: (args, options = {}) => finish(start(args, options), options.input),
    async logIn(person, { account, args = [], keyring, decision = "approve" } = {}) {
      const place = keyring === undefined ? ["--no-keyring"] : [];
      const child = start(["login", keep.url, "--no-browser", ...place, ...args], {
        environment: keyring ?? {},
      });
      const finished = finish(child);
      const page = new URL(await printed(child, /http\S+\/login\/authorize\?\S+/u));
      // The query of the page, whose fields its form repeats.
      const query = Object.fromEntries(page.searchParams) as Parameters<typeof decide>[2]["query"];
      const submission = account === undefined ? { query, decision } : { query, decision, account };
      const response = await decide(keep, person, submission);
      await fetch(response.headers.get("location") ?? "");
      return finished;
    },
    [Symbol.asyncDispose]: () => folder[Symbol.asyncDispose](),
  };
}

/** The first match in what the program prints as messages. */
export async function printed(child: ChildProcessWithoutNullStreams, pattern: RegExp): Promise<string> {
  let text = "";
  for await (const chunk of child.stderr.iterator({ destroyOnReturn: false })) {
    text += String(chunk);
    const match = pattern.exec(text);
    if (match !== null) return match[1] ?? match[0];
  }
  throw new Error(`The program did not print ${pattern}: ${text}`);
}

export async function finish(child: ChildProcessWithoutNullStreams, input = ""): Promise<Finished> {
  const output = { stdout: "", stderr: "" };
  for (const name of ["stdout", "stderr"] as const)
    child[name].on("data", (chunk: Buffer) => (output[name] += chunk.toString("utf8")));
  child.stdin.on("error", () => undefined);
  child.stdin.end(input);
  await once(child, "close");
  return { code: child.exitCode ?? signalBase + numberOf(child.signalCode), ...output };
}

const signalBase = 128;

function numberOf(signal: NodeJS.Signals | null): number {
  return signal === null ? 0 : constants.signals[signal];
}
