/**
 * @module
 * What both programs' command lines have in common: flags made from declared settings, the signal that ends a
 * server, and how a failure becomes a sentence and an exit code.
 * Imported by each program's `main.ts` and `failures.ts`.
 */

export { Command } from "commander";
export { addSettings } from "./add-settings.ts";
export { endSignal } from "./end-signal.ts";
export { type Explanation, exitCodes, runProgram } from "./run-program.ts";
