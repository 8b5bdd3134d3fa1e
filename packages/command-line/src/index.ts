/**
 * @module
 * What both programs' command lines have in common: flags made from declared settings, the signal that ends a
 * server, the certificate it serves with, and how a failure becomes a sentence and an exit code.
 * Imported by each program's `main.ts`, `failures.ts` and `commands/serve.ts`.
 */

export { Command } from "commander";
export { addSettings } from "./add-settings.ts";
export { endSignal } from "./end-signal.ts";
export { type Explanation, exitCodes, explainProblem, runProgram } from "./run-program.ts";
export {
  type CertificateSettings,
  readServedCertificate,
  renewAsNeeded,
  type ServedCertificate,
} from "./serve-with-certificate.ts";
