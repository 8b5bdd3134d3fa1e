import { rm } from "node:fs/promises";
import { testModel } from "@hearth-and-keep/test-servers";
import { expect, test } from "vitest";
import { createCatalog } from "../catalog.ts";
import { createFromFile } from "../create-from-file.ts";
import type { ModelStores } from "../store/model-store.ts";
import { makeStore } from "../test/stores.ts";

async function create(stores: ModelStores, system: string): Promise<void> {
  await createFromFile(stores, {
    name: "tiny",
    file: await testModel("tiny-llama.gguf"),
    extras: { system },
  });
}

test("a model is described again only after it has changed", async () => {
  await using made = await makeStore();
  const catalog = createCatalog([made.store]);
  await create([made.store], "one");
  const first = await catalog.describe("tiny");
  expect(await catalog.describe("tiny")).toBe(first);
  await create([made.store], "two");
  expect(await catalog.describe("tiny")).toMatchObject({ system: "two" });
});

test("a model that has gone, or whose file has, is missed at once", async () => {
  await using made = await makeStore();
  const catalog = createCatalog([made.store]);
  await create([made.store], "one");
  const { modelPath } = await catalog.describe("tiny");
  await rm(modelPath);
  await expect(catalog.describe("tiny")).rejects.toMatchObject({ failure: { kind: "blob-missing" } });
  await catalog.remove("tiny");
  await expect(catalog.describe("tiny")).rejects.toMatchObject({ failure: { kind: "model-not-found" } });
});

test("a name in our own store covers one below it at once", async () => {
  await using own = await makeStore();
  await using below = await makeStore();
  await create([below.store], "below");
  const catalog = createCatalog([own.store, below.store]);
  expect(await catalog.describe("tiny")).toMatchObject({ system: "below" });
  await create([own.store], "own");
  expect(await catalog.describe("tiny")).toMatchObject({ system: "own" });
});
