/**
 * @module
 * What the command lines of both programs share: flags from declared settings, the shutdown signal, the TLS
 * certificate of a server, and the translation of errors into messages and exit codes.
 * Imported by each program's `main.ts`, `failures.ts` and `commands/serve.ts`.
 */
export { Command } from "commander";
export { addSettings } from "./add-settings.ts";
export { type Explanation, explainError, runProgram } from "./run-program.ts";
export {
  type CertificateSettings,
  readServedCertificate,
  type ServedCertificate,
  watchServedCertificate,
} from "./serve-with-certificate.ts";
export { shutdownSignal } from "./shutdown-signal.ts";
