/**
 * @module
 * llama.cpp behind the engine port: a driver that runs each model in a sandboxed child process, and the worker program
 * of that process.
 * Imported by `scheduling/`, which loads engines, and by `main.ts`, which chooses them.
 */
export { createLlamaDriver } from "./driver/llama-driver.ts";
