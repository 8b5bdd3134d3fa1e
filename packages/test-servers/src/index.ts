/**
 * @module
 * The real parts that tests run against: databases, identity providers, model registries, a browser, Python
 * clients and llama.cpp's own server, each started on a free loopback port and stopped without a trace.
 * Every start function gives an AsyncDisposable: `await using postgres = await startPostgres()`.
 * Imported by tests, benchmarks and `show` only; production code never sees it.
 */
export { findFreePort } from "./loopback-port.ts";
export { type OwnedProcess, type ProcessPlan, startProcess } from "./owned-process.ts";
export { makeTemporaryFolder, type TemporaryFolder } from "./temporary-folder.ts";
