import { lstat, utimes, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { testModel } from "@hearth-and-keep/test-servers";
import { expect, test } from "vitest";
import { createCatalog } from "./catalog.ts";
import { createFromFile } from "./create-from-file.ts";
import { addBlob } from "./store/blob-store.ts";
import { digestOf } from "./store/digest.ts";
import { createTestStore, listFiles, type TestStore } from "./test/stores.ts";

const anHourAgo = new Date(Date.now() - 3_700_000);
const orphan = Buffer.from("referenced by no model");
const recent = Buffer.from("an upload whose model is not created yet");

/** A model with old files, an old and a new orphan, an old and a new unfinished file, and an unexpected file. */
async function createUntidyStore(access?: "shared"): Promise<TestStore> {
  const testStore = await createTestStore(access);
  await createFromFile([testStore.store], { name: "tiny", file: await testModel("tiny-llama.gguf") });
  for (const content of [orphan, recent]) {
    await addBlob(
      testStore.store,
      digestOf(content),
      (async function* () {
        yield content;
      })(),
    );
  }
  await writeFile(join(testStore.path, "partial/old"), "x");
  await writeFile(join(testStore.path, "partial/new"), "x");
  await writeFile(join(testStore.path, "blobs/unexpected"), "x");
  const recentFiles = new Set([`blobs/${digestOf(recent).replace(":", "-")}`, "partial/new"]);
  for (const file of await listFiles(testStore.path)) {
    if (!recentFiles.has(file)) await utimes(join(testStore.path, file), anHourAgo, anHourAgo);
  }
  return testStore;
}

test("prune removes unused files older than an hour, and a dry run removes nothing", async () => {
  await using testStore = await createUntidyStore();
  const catalog = createCatalog([testStore.store]);
  const before = await listFiles(testStore.path);
  const { blocks } = await lstat(join(testStore.path, "blobs", digestOf(orphan).replace(":", "-")));
  const listed = await catalog.prune({ dryRun: true });
  expect(listed.map(({ kind, name }) => [kind, name])).toEqual([
    ["blob", digestOf(orphan)],
    ["unfinished", "old"],
  ]);
  expect(listed[0]?.bytes).toBe(blocks * 512);
  expect(await listFiles(testStore.path)).toEqual(before);
  expect(await catalog.prune({ dryRun: false })).toEqual(listed);
  const removed = new Set([`blobs/${digestOf(orphan).replace(":", "-")}`, "partial/old"]);
  expect(await listFiles(testStore.path)).toEqual(before.filter((file) => !removed.has(file)));
  expect((await catalog.describe("tiny")).capabilities).toContain("completion");
  expect(await catalog.prune({ dryRun: false })).toEqual([]);
});

test("a shared store and a store with an unreadable manifest are not pruned", async () => {
  await using shared = await createUntidyStore("shared");
  await expect(createCatalog([shared.store]).prune({ dryRun: false })).rejects.toMatchObject({
    failure: { kind: "store-read-only" },
  });
  await using testStore = await createUntidyStore();
  await writeFile(join(testStore.path, "manifests/registry.ollama.ai/library/tiny/broken"), "{");
  const before = await listFiles(testStore.path);
  await expect(createCatalog([testStore.store]).prune({ dryRun: false })).rejects.toMatchObject({
    failure: { kind: "manifest-invalid", model: "tiny:broken" },
  });
  expect(await listFiles(testStore.path)).toEqual(before);
});
