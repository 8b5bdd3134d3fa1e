/**
 * @module
 * The engine port implemented with llama.cpp's Node binding: a driver that runs each model in a sandboxed child process,
 * and the worker program of that process.
 * Imported by `scheduling/`, which loads engines, and by `main.ts`, which chooses them.
 */
export { createLlamaDriver } from "./driver/llama-driver.ts";
export type {
  FoundState,
  OfferedState,
  PromptStore,
  StateOwner,
  StateQuery,
} from "./driver/prompt-exchange.ts";
