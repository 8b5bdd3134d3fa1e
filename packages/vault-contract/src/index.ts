/**
 * @module
 * The interface of Keep as schemas: what every request and answer looks like, with a bound on every part. The server
 * checks and describes itself with them; the console and the command line are typed by them.
 * Imported by Keep, its console and its command line; holds no code that needs Node.
 */
export { type Problem, type ProblemCode, problem, problemCodes } from "./problem.ts";
export { id, label, moment } from "./shared-fields.ts";
export { type Vault, vault, vaultList } from "./vaults.ts";
