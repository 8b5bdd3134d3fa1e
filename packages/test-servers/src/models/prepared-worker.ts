import { symlink } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { runCacheFolder } from "../config.ts";
import { createOnce } from "../create-once.ts";

const installed = fileURLToPath(new URL("../../../../node_modules", import.meta.url));

/**
 * Compiling the modules of a worker takes most of the time of loading a small model, so each run of the test runner
 * bundles them once, as an installed package does.
 */
export async function preparedWorker(): Promise<{ readonly workerProgram?: string }> {
  const runCache = runCacheFolder();
  if (runCache === undefined) return {};
  const folder = await createOnce({
    path: join(runCache, "worker"),
    async create(path) {
      const { buildEngineWorker } = await import("../../../../scripts/build-engine-worker.ts");
      await buildEngineWorker(join(path, "program"));
      await symlink(installed, join(path, "node_modules"));
    },
  });
  return { workerProgram: join(folder, "program/engine/worker/engine-worker.js") };
}
