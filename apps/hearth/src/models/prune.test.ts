import { lstat, utimes, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { testModel } from "@hearth-and-keep/test-servers";
import { expect, test } from "vitest";
import { createCatalog } from "./catalog.ts";
import { createFromFile } from "./create-from-file.ts";
import { addBlob } from "./store/blob-store.ts";
import { digestOf } from "./store/digest.ts";
import { filesBelow, makeStore, type TestStore } from "./test/stores.ts";

const anHourAgo = new Date(Date.now() - 3_700_000);
const orphan = Buffer.from("no model names this");
const young = Buffer.from("an upload that its model is still to come for");

/** A model whose files are all old, an old and a young orphan, an old and a young unfinished file, a stranger. */
async function makeUntidyStore(access?: "shared"): Promise<TestStore> {
  const made = await makeStore(access);
  await createFromFile([made.store], { name: "tiny", file: await testModel("tiny-llama.gguf") });
  for (const content of [orphan, young]) {
    await addBlob(
      made.store,
      digestOf(content),
      (async function* () {
        yield content;
      })(),
    );
  }
  await writeFile(join(made.path, "partial/old"), "x");
  await writeFile(join(made.path, "partial/new"), "x");
  await writeFile(join(made.path, "blobs/stranger"), "x");
  const youngFiles = new Set([`blobs/${digestOf(young).replace(":", "-")}`, "partial/new"]);
  for (const file of await filesBelow(made.path)) {
    if (!youngFiles.has(file)) await utimes(join(made.path, file), anHourAgo, anHourAgo);
  }
  return made;
}

test("what no model needs goes, nothing younger than an hour, and a dry run removes nothing", async () => {
  await using made = await makeUntidyStore();
  const catalog = createCatalog([made.store]);
  const before = await filesBelow(made.path);
  const { blocks } = await lstat(join(made.path, "blobs", digestOf(orphan).replace(":", "-")));
  const told = await catalog.prune({ dryRun: true });
  expect(told.map(({ kind, name }) => [kind, name])).toEqual([
    ["blob", digestOf(orphan)],
    ["unfinished", "old"],
  ]);
  expect(told[0]?.bytes).toBe(blocks * 512);
  expect(await filesBelow(made.path)).toEqual(before);
  expect(await catalog.prune({ dryRun: false })).toEqual(told);
  const gone = new Set([`blobs/${digestOf(orphan).replace(":", "-")}`, "partial/old"]);
  expect(await filesBelow(made.path)).toEqual(before.filter((file) => !gone.has(file)));
  expect((await catalog.describe("tiny")).capabilities).toContain("completion");
  expect(await catalog.prune({ dryRun: false })).toEqual([]);
});

test("a store that others write to is never swept, and one with a manifest that cannot be read is not", async () => {
  await using shared = await makeUntidyStore("shared");
  await expect(createCatalog([shared.store]).prune({ dryRun: false })).rejects.toMatchObject({
    failure: { kind: "store-read-only" },
  });
  await using made = await makeUntidyStore();
  await writeFile(join(made.path, "manifests/registry.ollama.ai/library/tiny/broken"), "{");
  const before = await filesBelow(made.path);
  await expect(createCatalog([made.store]).prune({ dryRun: false })).rejects.toMatchObject({
    failure: { kind: "manifest-invalid", model: "tiny:broken" },
  });
  expect(await filesBelow(made.path)).toEqual(before);
});
