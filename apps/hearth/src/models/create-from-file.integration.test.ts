import { readFile, rm, stat, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { makeTemporaryFolder, testModel } from "@hearth-and-keep/test-servers";
import { describe, expect, test } from "vitest";
import { createCatalog } from "./catalog.ts";
import { createFromFile } from "./create-from-file.ts";
import { saveShards } from "./test/split-model.ts";
import { createTestStore, listFiles } from "./test/stores.ts";

const minilmBlob = "blobs/sha256-3ccab09cfee7bbabda21bf8c6c0dc0a40ed25b663206d78e2687a7e65044ce5d";

describe("importing a file", () => {
  test("SmolLM2 is described with the values for memory estimates", async () => {
    await using testStore = await createTestStore();
    await createFromFile([testStore.store], {
      name: "smol",
      file: await testModel("smollm2-135m-instruct-q4_1.gguf"),
    });
    const model = await createCatalog([testStore.store]).describe("smol");
    expect(model).toMatchObject({
      name: "smol:latest",
      capabilities: ["completion"],
      trainedContextTokens: 8192,
      embeddingLength: 576,
      template: null,
      details: { family: "llama", families: ["llama"], parameterSize: "134.52M", quantization: "Q4_1" },
      header: { attention: { layers: 30, keyLength: 64, valueLength: 64 } },
      isReadOnly: false,
    });
    expect(model.header.attention.keyValueHeads).toEqual(Array.from({ length: 30 }, () => 3));
    expect(model.chatTemplate).toContain("<|im_start|>");
    expect((await stat(model.modelPath)).size).toBe(98_362_432);
    expect(model.modifiedAt).toMatch(/Z$/u);
  });

  test("MiniLM only has the embedding capability", async () => {
    await using testStore = await createTestStore();
    const file = await testModel("all-minilm-l6-v2-f32.gguf");
    await createFromFile([testStore.store], { name: "minilm", file });
    const model = await createCatalog([testStore.store]).describe("MiniLM:LATEST");
    expect(model).toMatchObject({ name: "minilm:latest", capabilities: ["embedding"], embeddingLength: 384 });
    expect(model.details).toMatchObject({ family: "bert", parameterSize: "22.57M", quantization: "F32" });
  });

  test("changing the original file later does not affect the store", async () => {
    await using testStore = await createTestStore();
    await using elsewhere = await makeTemporaryFolder("original");
    const file = join(elsewhere.path, "tiny.gguf");
    const content = await readFile(await testModel("tiny-llama.gguf"));
    await writeFile(file, content);
    await createFromFile([testStore.store], { name: "tiny", file });
    await writeFile(file, "changed");
    const { modelPath } = await createCatalog([testStore.store]).describe("tiny");
    expect((await readFile(modelPath)).equals(content)).toBe(true);
  });

  test("two concurrent imports of one file create one blob and two names", async () => {
    await using testStore = await createTestStore();
    const file = await testModel("all-minilm-l6-v2-f32.gguf");
    await Promise.all(["one", "two"].map((name) => createFromFile([testStore.store], { name, file })));
    const files = await listFiles(testStore.path);
    expect(files.filter((path) => path.startsWith("blobs/"))).toHaveLength(2);
    expect(files).toContain(minilmBlob);
    expect(files.filter((path) => path.startsWith("partial/"))).toEqual([]);
    expect((await createCatalog([testStore.store]).list()).models).toHaveLength(2);
  });

  test("replacing a model removes blobs that only the old one used", async () => {
    await using testStore = await createTestStore();
    await createFromFile([testStore.store], {
      name: "a",
      file: await testModel("all-minilm-l6-v2-f32.gguf"),
    });
    await createFromFile([testStore.store], { name: "A", file: await testModel("tiny-llama.gguf") });
    const { models } = await createCatalog([testStore.store]).list();
    expect(models.map(({ name, details }) => [name, details.family])).toEqual([["a:latest", "llama"]]);
    expect(await listFiles(testStore.path)).not.toContain(minilmBlob);
  });
});

describe("a rejected import leaves nothing behind", () => {
  test.each([
    { rule: "a file that is not a model", name: "a", content: "not a model", kind: "model-file-invalid" },
    { rule: "a name that is a path", name: "../../a", content: null, kind: "name-invalid" },
    {
      rule: "a parameter that is out of range",
      name: "a",
      content: null,
      kind: "parameter-invalid",
      top_p: 2,
    },
  ])("$rule", async ({ name, content, kind, top_p }) => {
    await using testStore = await createTestStore();
    await using elsewhere = await makeTemporaryFolder("original");
    const file = join(elsewhere.path, "model.gguf");
    await writeFile(file, content ?? (await readFile(await testModel("tiny-llama.gguf"))));
    const extras = top_p === undefined ? {} : { parameters: { top_p } };
    await expect(createFromFile([testStore.store], { name, file, extras })).rejects.toMatchObject({
      failure: { kind },
    });
    expect(await listFiles(testStore.path)).toEqual([]);
    const good = await testModel("tiny-llama.gguf");
    await createFromFile([testStore.store], { name: "a", file: good, extras: { parameters: { top_p: 1 } } });
    expect(await listFiles(testStore.path)).toHaveLength(4);
  });

  test("the failure for a missing file contains no path", async () => {
    await using testStore = await createTestStore();
    const refusal = createFromFile([testStore.store], {
      name: "a",
      file: join(testStore.path, "secret-place.gguf"),
    });
    await expect(refusal).rejects.toMatchObject({
      failure: { kind: "model-file-invalid", reason: "The file cannot be read" },
    });
  });

  test("a read-only store rejects new models", async () => {
    await using testStore = await createTestStore("read-only");
    const refusal = createFromFile([testStore.store], {
      name: "a",
      file: await testModel("tiny-llama.gguf"),
    });
    await expect(refusal).rejects.toMatchObject({ failure: { kind: "store-read-only" } });
  });

  test("a manifest is not written through a symbolic link out of the store", async () => {
    await using testStore = await createTestStore();
    await using elsewhere = await makeTemporaryFolder("elsewhere");
    await symlink(elsewhere.path, join(testStore.path, "manifests", "registry.ollama.ai"));
    const file = await testModel("tiny-llama.gguf");
    await expect(createFromFile([testStore.store], { name: "a", file })).rejects.toMatchObject({
      failure: { kind: "store-read-only" },
    });
    expect(await listFiles(elsewhere.path)).toEqual([]);
    await rm(join(testStore.path, "manifests", "registry.ollama.ai"));
    await createFromFile([testStore.store], { name: "a", file });
    expect((await createCatalog([testStore.store]).describe("a")).name).toBe("a:latest");
  });
});

describe("a split model", () => {
  test("is stored as named layers and opened through links with the names that llama.cpp expects", async () => {
    await using testStore = await createTestStore();
    await using elsewhere = await makeTemporaryFolder("original");
    const paths = await saveShards(elsewhere.path);
    await createFromFile([testStore.store], { name: "split", file: paths[0] ?? "" });
    const catalog = createCatalog([testStore.store]);
    const { modelPath, details } = await catalog.describe("split");
    expect(modelPath).toMatch(/model-00001-of-00003\.gguf$/u);
    expect((await catalog.inspect("split")).tensors.map(({ name }) => name)).toEqual([
      "part.0",
      "part.1",
      "part.2",
    ]);
    expect(details.parameterSize).toBe("24");
    await catalog.remove("split");
    expect(await listFiles(testStore.path)).toEqual([]);
  });

  test("is rejected when a shard is missing", async () => {
    await using testStore = await createTestStore();
    await using elsewhere = await makeTemporaryFolder("original");
    const paths = await saveShards(elsewhere.path);
    await rm(paths[2] ?? "");
    const refusal = createFromFile([testStore.store], { name: "split", file: paths[0] ?? "" });
    await expect(refusal).rejects.toMatchObject({ failure: { kind: "model-file-invalid" } });
    expect(await listFiles(testStore.path)).toEqual([]);
  });
});
