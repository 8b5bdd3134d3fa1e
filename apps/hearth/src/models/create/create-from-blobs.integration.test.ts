import { createReadStream } from "node:fs";
import { readFile } from "node:fs/promises";
import { basename } from "node:path";
import { corpusModels, makeTemporaryFolder, testModel } from "@hearth-and-keep/test-servers";
import { expect, test } from "vitest";
import { createCatalog } from "../catalog.ts";
import { createFromFile } from "../create-from-file.ts";
import { addBlob } from "../store/blob-store.ts";
import { digestOf } from "../store/digest.ts";
import { saveShards } from "../test/split-model.ts";
import { createTestStore, listFiles, type TestStore } from "../test/stores.ts";
import { createModelAndWait } from "./create-model.ts";

test("a model created from an uploaded blob equals one created from the file", async () => {
  await using testStore = await createTestStore();
  const file = await testModel("tiny-llama.gguf");
  const digest = await upload(testStore, file);
  const extras = { system: "Be brief.", parameters: { temperature: 0 } };
  const source = { kind: "blobs", files: new Map([["tiny.gguf", digest]]) } as const;
  await createModelAndWait([testStore.store], { name: "uploaded", source, extras });
  await createFromFile([testStore.store], { name: "copied", file, extras });
  const catalog = createCatalog([testStore.store]);
  expect((await catalog.describe("uploaded")).digest).toBe((await catalog.describe("copied")).digest);
});

test("uploaded shards form one model in any order", async () => {
  await using testStore = await createTestStore();
  await using elsewhere = await makeTemporaryFolder("parts");
  const paths = await saveShards(elsewhere.path);
  const files = new Map<string, string>();
  for (const path of paths.toReversed()) files.set(basename(path), await upload(testStore, path));
  await createModelAndWait([testStore.store], { name: "split", source: { kind: "blobs", files } });
  const { tensors } = await createCatalog([testStore.store]).inspect("split");
  expect(tensors.map(({ name }) => name)).toEqual(["part.0", "part.1", "part.2"]);
});

test.each([
  { rule: "no file", files: [], kind: "model-file-invalid" },
  { rule: "a missing blob", files: [`sha256:${"00".repeat(32)}`], kind: "blob-missing" },
  { rule: "a digest that is a path", files: ["sha256:../../etc/passwd"], kind: "digest-invalid" },
  { rule: "a blob that is not a model", files: ["text"], kind: "model-file-invalid" },
  { rule: "two models instead of shards", files: ["tiny", "other"], kind: "model-file-invalid" },
])("$rule is rejected", async ({ files, kind }) => {
  await using testStore = await createTestStore();
  const text = Buffer.from("not a model");
  const known = new Map<string, string>([
    ["tiny", await upload(testStore, await testModel("tiny-llama.gguf"))],
    [
      "other",
      await upload(testStore, (await corpusModels()).find((path) => path.endsWith("one-tensor.gguf")) ?? ""),
    ],
    ["text", (await addBlob(testStore.store, digestOf(text), streamOf(text))).digest],
  ]);
  const named = new Map(files.map((file, index) => [`${index}.gguf`, known.get(file) ?? file]));
  const source = { kind: "blobs", files: named } as const;
  await expect(createModelAndWait([testStore.store], { name: "m", source })).rejects.toMatchObject({
    failure: { kind },
  });
  const names = await listFiles(testStore.path);
  expect(names.filter((path) => /^(?:manifests|partial)/u.test(path))).toEqual([]);
});

async function upload({ store }: TestStore, file: string): Promise<string> {
  const expected = digestOf(await readFile(file));
  return (await addBlob(store, expected, createReadStream(file))).digest;
}

async function* streamOf(bytes: Buffer): AsyncGenerator<Uint8Array> {
  yield bytes;
}
