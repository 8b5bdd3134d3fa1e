import { createReadStream } from "node:fs";
import { readFile } from "node:fs/promises";
import { basename } from "node:path";
import { corpusModels, makeTemporaryFolder, testModel } from "@hearth-and-keep/test-servers";
import { expect, test } from "vitest";
import { createCatalog } from "../catalog.ts";
import { createFromFile } from "../create-from-file.ts";
import { addBlob } from "../store/blob-store.ts";
import { digestOf } from "../store/digest.ts";
import { saveParts } from "../test/split-model.ts";
import { filesBelow, makeStore, type TestStore } from "../test/stores.ts";
import { createWhole } from "./create-model.ts";

test("a model made of an uploaded blob equals one made of the file", async () => {
  await using made = await makeStore();
  const file = await testModel("tiny-llama.gguf");
  const digest = await upload(made, file);
  const extras = { system: "Be brief.", parameters: { temperature: 0 } };
  const origin = { kind: "blobs", files: new Map([["tiny.gguf", digest]]) } as const;
  await createWhole([made.store], { name: "uploaded", origin, extras });
  await createFromFile([made.store], { name: "copied", file, extras });
  const catalog = createCatalog([made.store]);
  expect((await catalog.describe("uploaded")).digest).toBe((await catalog.describe("copied")).digest);
});

test("the uploaded parts of a split model make one model, in whatever order they are named", async () => {
  await using made = await makeStore();
  await using elsewhere = await makeTemporaryFolder("parts");
  const paths = await saveParts(elsewhere.path);
  const files = new Map<string, string>();
  for (const path of paths.toReversed()) files.set(basename(path), await upload(made, path));
  await createWhole([made.store], { name: "split", origin: { kind: "blobs", files } });
  const { tensors } = await createCatalog([made.store]).inspect("split");
  expect(tensors.map(({ name }) => name)).toEqual(["part.0", "part.1", "part.2"]);
});

test.each([
  { rule: "no file", files: [], kind: "model-file-invalid" },
  { rule: "a blob that is not there", files: [`sha256:${"00".repeat(32)}`], kind: "blob-missing" },
  { rule: "a digest that is a path", files: ["sha256:../../etc/passwd"], kind: "digest-invalid" },
  { rule: "a blob that is no model", files: ["text"], kind: "model-file-invalid" },
  { rule: "two models as if they were parts", files: ["tiny", "other"], kind: "model-file-invalid" },
])("$rule makes no model", async ({ files, kind }) => {
  await using made = await makeStore();
  const text = Buffer.from("no model");
  const known = new Map<string, string>([
    ["tiny", await upload(made, await testModel("tiny-llama.gguf"))],
    [
      "other",
      await upload(made, (await corpusModels()).find((path) => path.endsWith("one-tensor.gguf")) ?? ""),
    ],
    ["text", (await addBlob(made.store, digestOf(text), streamOf(text))).digest],
  ]);
  const named = new Map(files.map((file, index) => [`${index}.gguf`, known.get(file) ?? file]));
  const origin = { kind: "blobs", files: named } as const;
  await expect(createWhole([made.store], { name: "m", origin })).rejects.toMatchObject({
    failure: { kind },
  });
  const names = await filesBelow(made.path);
  expect(names.filter((path) => /^(?:manifests|partial)/u.test(path))).toEqual([]);
});

async function upload({ store }: TestStore, file: string): Promise<string> {
  const expected = digestOf(await readFile(file));
  return (await addBlob(store, expected, createReadStream(file))).digest;
}

async function* streamOf(bytes: Buffer): AsyncGenerator<Uint8Array> {
  yield bytes;
}
