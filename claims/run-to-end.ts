import { spawn } from "node:child_process";
import { resolve } from "node:path";
import { inheritedEnvironment } from "./config.ts";

export const root: string = resolve(import.meta.dirname, "..");

/** Runs a program in the clone. Its output goes to standard error, because standard output is for the figure. */
export function runToEnd(
  command: string,
  args: readonly string[],
  environment: Readonly<Record<string, string>> = {},
): Promise<number> {
  return new Promise((done, fail) => {
    const child = spawn(command, [...args], {
      cwd: root,
      stdio: ["ignore", 2, 2],
      env: { ...inheritedEnvironment(), ...environment },
    });
    child.once("error", fail);
    child.once("close", (code) => done(code ?? 1));
  });
}
