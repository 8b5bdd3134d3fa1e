import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { partEnvironment } from "../config.ts";
import { preparePython } from "./prepare-python.ts";

type PythonRun = {
  readonly environment?: Readonly<Record<string, string>>;
  readonly withinSeconds?: number;
};

const run = promisify(execFile);

/** What every Python program of ours sees beside the environment of a part. */
export const pythonEnvironment = {
  PYTHONUTF8: "1",
  // Without it, importing litellm asks the internet for prices and waits.
  LITELLM_LOCAL_MODEL_COST_MAP: "True",
  // Small matrices are faster on one thread, far faster when another process takes a core.
  OPENBLAS_NUM_THREADS: "1",
} as const;

/** Runs a script in the prepared environment to its end and gives what it printed; a failing script throws. */
export async function runPython(
  script: string,
  scriptArguments: readonly string[] = [],
  { environment = {}, withinSeconds = 120 }: PythonRun = {},
): Promise<string> {
  const { interpreter } = await preparePython();
  try {
    const { stdout } = await run(interpreter, [script, ...scriptArguments], {
      env: { ...partEnvironment(), ...pythonEnvironment, ...environment },
      timeout: withinSeconds * 1000,
      killSignal: "SIGKILL",
      maxBuffer: 64 * 1024 * 1024,
    });
    return stdout;
  } catch (cause) {
    throw new Error(`Cannot finish "${script}": ${explain(cause, withinSeconds)}`, { cause });
  }
}

function explain(problem: unknown, withinSeconds: number): string {
  if (!(problem instanceof Error)) return String(problem);
  if ("killed" in problem && problem.killed === true) return `it ran longer than ${withinSeconds} s`;
  const errors = "stderr" in problem ? String(problem.stderr).slice(-4000) : "";
  const code = "code" in problem ? String(problem.code) : "no code";
  return `it ended with ${code}\n${errors}`;
}
