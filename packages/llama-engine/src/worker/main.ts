/**
 * @module
 * The program of a model's child process: loads one model file, handles calls over a pipe, and exits when the pipe
 * closes. Everything derived from a model file or a client's grammar runs here, outside the server.
 * Sends a heartbeat while its event loop runs, and batches events.
 * Nothing imports it: the driver starts it by its path.
 */
import { skipBinaryTest } from "./binding-hooks.ts";

// Before the binding is imported.
skipBinaryTest();
await import("./handle-calls.ts");
