/**
 * @module
 * States of prompts that outlive a model's process: the next turn of a conversation is evaluated from where the last one
 * ended, after the model was unloaded or the server restarted. Each state belongs to one API key, and on disk it is
 * encrypted with the key of this machine. Damaged files are deleted; they never cause an error.
 * Imported by `commands/`, which passes the cache to the driver.
 */
import { mkdir } from "node:fs/promises";
import { openMachineKey } from "../encryption/machine-key.ts";
import { PromptCache, type PromptCacheLimits } from "./prompt-cache.ts";
import { StateFiles } from "./state-files.ts";
import { StateMemory } from "./state-memory.ts";

export type PromptCacheFolder = {
  readonly folder: string;
  /** The file of the machine key, created if it is missing. */
  readonly keyFile: string;
};

const maxIdleMilliseconds = 30 * 24 * 3_600_000;

/** States survive the unloading of their model, but not the server. */
export function createMemoryCache(limits: PromptCacheLimits): PromptCache {
  return new PromptCache(new StateMemory(), limits);
}

export async function openPromptCache(
  limits: PromptCacheLimits,
  { folder, keyFile }: PromptCacheFolder,
): Promise<PromptCache> {
  const machineKey = await openMachineKey(keyFile);
  await mkdir(folder, { recursive: true, mode: 0o700 });
  const files = new StateFiles(folder, machineKey);
  const cache = new PromptCache(files, limits);
  await cache.restore(await files.load({ maxBytes: limits.maxBytes, maxIdleMilliseconds }));
  return cache;
}
