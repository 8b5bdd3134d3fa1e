import { createHash } from "node:crypto";
import { copyFile, mkdir, readdir } from "node:fs/promises";
import { dirname, join, relative } from "node:path";
import { createOnce, runCacheFolder, testModel } from "@hearth-and-keep/test-servers";
import { createFromFile } from "../models/create-from-file.ts";
import type { ModelExtras } from "../models/model-extras.ts";
import { openModelStore } from "../models/store/model-store.ts";
import { linkOrCopy } from "../models/test/stores.ts";

export type TestModelOptions = {
  readonly file: Parameters<typeof testModel>[0];
  readonly projector?: Parameters<typeof testModel>[0];
  readonly extras?: ModelExtras;
};

/** By name. */
export type TestModels = Readonly<Record<string, TestModelOptions>>;

export async function createModels(storeFolder: string, models: TestModels): Promise<void> {
  const store = await openModelStore(storeFolder, "own");
  for (const [name, { file, projector, extras }] of Object.entries(models)) {
    await createFromFile([store], {
      name,
      file: await testModel(file),
      ...(projector === undefined ? {} : { projector: await testModel(projector) }),
      ...(extras === undefined ? {} : { extras }),
    });
  }
}

/**
 * Creating a model hashes its whole file, so each set of models is created once in a run of the test runner and then
 * added to the stores of all its servers. Blobs are links, so no test may modify one; a server only adds and removes them.
 */
export async function addPreparedModels(storeFolder: string, models: TestModels): Promise<void> {
  const runCache = runCacheFolder();
  if (runCache === undefined) return createModels(storeFolder, models);
  const key = createHash("sha256").update(JSON.stringify(models)).digest("hex").slice(0, 16);
  const prepared = await createOnce({
    path: join(runCache, `store-${key}`),
    create: (folder) => createModels(folder, models),
  });
  const entries = await readdir(prepared, { recursive: true, withFileTypes: true });
  for (const entry of entries.filter((each) => each.isFile())) {
    const path = join(entry.parentPath, entry.name);
    const target = join(storeFolder, relative(prepared, path));
    await mkdir(dirname(target), { recursive: true });
    if (dirname(path) === join(prepared, "blobs")) await linkOrCopy(path, target);
    else await copyFile(path, target);
  }
}
