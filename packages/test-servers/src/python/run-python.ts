import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { childEnvironment } from "../config.ts";
import { preparePython } from "./prepare-python.ts";

type PythonRun = {
  readonly environment?: Readonly<Record<string, string>>;
  readonly timeoutSeconds?: number;
};

const run = promisify(execFile);

/** Variables that every Python program gets in addition to the child environment. */
export const pythonEnvironment = {
  PYTHONUTF8: "1",
  // Without it, importing litellm downloads a price list.
  LITELLM_LOCAL_MODEL_COST_MAP: "True",
  // Small matrices are faster on one thread, much more so when another process uses a core.
  OPENBLAS_NUM_THREADS: "1",
} as const;

/** Runs a script in the prepared environment and returns its output; throws when the script fails. */
export async function runPython(
  script: string,
  scriptArguments: readonly string[] = [],
  { environment = {}, timeoutSeconds = 120 }: PythonRun = {},
): Promise<string> {
  const { interpreter } = await preparePython();
  try {
    const { stdout } = await run(interpreter, [script, ...scriptArguments], {
      env: { ...childEnvironment(), ...pythonEnvironment, ...environment },
      timeout: timeoutSeconds * 1000,
      killSignal: "SIGKILL",
      maxBuffer: 64 * 1024 * 1024,
    });
    return stdout;
  } catch (cause) {
    throw new Error(`Cannot run "${script}": ${explain(cause, timeoutSeconds)}`, { cause });
  }
}

function explain(error: unknown, timeoutSeconds: number): string {
  if (!(error instanceof Error)) return String(error);
  if ("killed" in error && error.killed === true) return `it ran longer than ${timeoutSeconds} s`;
  const errors = "stderr" in error ? String(error.stderr).slice(-4000) : "";
  const code = "code" in error ? String(error.code) : "no code";
  return `it exited with ${code}\n${errors}`;
}
