import { setRunCacheFolder } from "./config.ts";
import { makeTemporaryFolder } from "./temporary-folder.ts";

/** Vitest runs this once before the first test file, and the returned function after the last one. */
export default async function setup(): Promise<() => Promise<void>> {
  const folder = await makeTemporaryFolder("run-cache");
  setRunCacheFolder(folder.path);
  return async () => folder[Symbol.asyncDispose]();
}
