import { rm } from "node:fs/promises";
import { testModel } from "@hearth-and-keep/test-servers";
import { expect, test } from "vitest";
import { createCatalog } from "../catalog.ts";
import { createFromFile } from "../create-from-file.ts";
import type { ModelStores } from "../store/model-store.ts";
import { createTestStore } from "../test/stores.ts";

async function create(stores: ModelStores, system: string): Promise<void> {
  await createFromFile(stores, {
    name: "tiny",
    file: await testModel("tiny-llama.gguf"),
    extras: { system },
  });
}

test("a description is cached until the model changes", async () => {
  await using testStore = await createTestStore();
  const catalog = createCatalog([testStore.store]);
  await create([testStore.store], "one");
  const first = await catalog.describe("tiny");
  expect(await catalog.describe("tiny")).toBe(first);
  await create([testStore.store], "two");
  expect(await catalog.describe("tiny")).toMatchObject({ system: "two" });
});

test("a removed model and a removed file are noticed at once", async () => {
  await using testStore = await createTestStore();
  const catalog = createCatalog([testStore.store]);
  await create([testStore.store], "one");
  const { modelPath } = await catalog.describe("tiny");
  await rm(modelPath);
  await expect(catalog.describe("tiny")).rejects.toMatchObject({ failure: { kind: "blob-missing" } });
  await catalog.remove("tiny");
  await expect(catalog.describe("tiny")).rejects.toMatchObject({ failure: { kind: "model-not-found" } });
});

test("a new name in our own store shadows one in a read-only store at once", async () => {
  await using own = await createTestStore();
  await using below = await createTestStore();
  await create([below.store], "below");
  const catalog = createCatalog([own.store, below.store]);
  expect(await catalog.describe("tiny")).toMatchObject({ system: "below" });
  await create([own.store], "own");
  expect(await catalog.describe("tiny")).toMatchObject({ system: "own" });
});
