import { readFile, rm, stat, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { makeTemporaryFolder, testModel } from "@hearth-and-keep/test-servers";
import { describe, expect, test } from "vitest";
import { createCatalog } from "./catalog.ts";
import { createFromFile } from "./create-from-file.ts";
import { saveParts } from "./test/split-model.ts";
import { filesBelow, makeStore } from "./test/stores.ts";

const minilmBlob = "blobs/sha256-3ccab09cfee7bbabda21bf8c6c0dc0a40ed25b663206d78e2687a7e65044ce5d";

describe("importing a file", () => {
  test("SmolLM2 can then be described, with what a memory budget counts", async () => {
    await using made = await makeStore();
    await createFromFile([made.store], {
      name: "smol",
      file: await testModel("smollm2-135m-instruct-q4_1.gguf"),
    });
    const model = await createCatalog([made.store]).describe("smol");
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

  test("MiniLM makes vectors and no text", async () => {
    await using made = await makeStore();
    const file = await testModel("all-minilm-l6-v2-f32.gguf");
    await createFromFile([made.store], { name: "minilm", file });
    const model = await createCatalog([made.store]).describe("MiniLM:LATEST");
    expect(model).toMatchObject({ name: "minilm:latest", capabilities: ["embedding"], embeddingLength: 384 });
    expect(model.details).toMatchObject({ family: "bert", parameterSize: "22.57M", quantization: "F32" });
  });

  test("a later change of the original does not reach the store", async () => {
    await using made = await makeStore();
    await using elsewhere = await makeTemporaryFolder("original");
    const file = join(elsewhere.path, "tiny.gguf");
    const content = await readFile(await testModel("tiny-llama.gguf"));
    await writeFile(file, content);
    await createFromFile([made.store], { name: "tiny", file });
    await writeFile(file, "changed");
    const { modelPath } = await createCatalog([made.store]).describe("tiny");
    expect((await readFile(modelPath)).equals(content)).toBe(true);
  });

  test("two imports of one file at once give one blob and two names", async () => {
    await using made = await makeStore();
    const file = await testModel("all-minilm-l6-v2-f32.gguf");
    await Promise.all(["one", "two"].map((name) => createFromFile([made.store], { name, file })));
    const files = await filesBelow(made.path);
    expect(files.filter((path) => path.startsWith("blobs/"))).toHaveLength(2);
    expect(files).toContain(minilmBlob);
    expect(files.filter((path) => path.startsWith("partial/"))).toEqual([]);
    expect((await createCatalog([made.store]).list()).models).toHaveLength(2);
  });

  test("a name that is used again lets go of what only it used", async () => {
    await using made = await makeStore();
    await createFromFile([made.store], { name: "a", file: await testModel("all-minilm-l6-v2-f32.gguf") });
    await createFromFile([made.store], { name: "A", file: await testModel("tiny-llama.gguf") });
    const { models } = await createCatalog([made.store]).list();
    expect(models.map(({ name, details }) => [name, details.family])).toEqual([["a:latest", "llama"]]);
    expect(await filesBelow(made.path)).not.toContain(minilmBlob);
  });
});

describe("what is refused leaves nothing behind", () => {
  test.each([
    { rule: "a file that is no model", name: "a", content: "not a model", kind: "model-file-invalid" },
    { rule: "a name that leads elsewhere", name: "../../a", content: null, kind: "name-invalid" },
    { rule: "a parameter out of bounds", name: "a", content: null, kind: "parameter-invalid", top_p: 2 },
  ])("$rule", async ({ name, content, kind, top_p }) => {
    await using made = await makeStore();
    await using elsewhere = await makeTemporaryFolder("original");
    const file = join(elsewhere.path, "model.gguf");
    await writeFile(file, content ?? (await readFile(await testModel("tiny-llama.gguf"))));
    const extras = top_p === undefined ? {} : { parameters: { top_p } };
    await expect(createFromFile([made.store], { name, file, extras })).rejects.toMatchObject({
      failure: { kind },
    });
    expect(await filesBelow(made.path)).toEqual([]);
    const good = await testModel("tiny-llama.gguf");
    await createFromFile([made.store], { name: "a", file: good, extras: { parameters: { top_p: 1 } } });
    expect(await filesBelow(made.path)).toHaveLength(4);
  });

  test("the refusal of a file that is not there tells no path", async () => {
    await using made = await makeStore();
    const refusal = createFromFile([made.store], { name: "a", file: join(made.path, "secret-place.gguf") });
    await expect(refusal).rejects.toMatchObject({
      failure: { kind: "model-file-invalid", reason: "The file cannot be read" },
    });
  });

  test("a store that is only read takes no model", async () => {
    await using made = await makeStore("read-only");
    const refusal = createFromFile([made.store], { name: "a", file: await testModel("tiny-llama.gguf") });
    await expect(refusal).rejects.toMatchObject({ failure: { kind: "store-read-only" } });
  });

  test("a folder of names that is a link out of the store is not written through", async () => {
    await using made = await makeStore();
    await using elsewhere = await makeTemporaryFolder("elsewhere");
    await symlink(elsewhere.path, join(made.path, "manifests", "registry.ollama.ai"));
    const file = await testModel("tiny-llama.gguf");
    await expect(createFromFile([made.store], { name: "a", file })).rejects.toMatchObject({
      failure: { kind: "store-read-only" },
    });
    expect(await filesBelow(elsewhere.path)).toEqual([]);
    await rm(join(made.path, "manifests", "registry.ollama.ai"));
    await createFromFile([made.store], { name: "a", file });
    expect((await createCatalog([made.store]).describe("a")).name).toBe("a:latest");
  });
});

describe("a model in several files", () => {
  test("is stored as layers with their names and opened by links that llama.cpp understands", async () => {
    await using made = await makeStore();
    await using elsewhere = await makeTemporaryFolder("original");
    const paths = await saveParts(elsewhere.path);
    await createFromFile([made.store], { name: "split", file: paths[0] ?? "" });
    const catalog = createCatalog([made.store]);
    const { modelPath, details } = await catalog.describe("split");
    expect(modelPath).toMatch(/model-00001-of-00003\.gguf$/u);
    expect((await catalog.inspect("split")).tensors.map(({ name }) => name)).toEqual([
      "part.0",
      "part.1",
      "part.2",
    ]);
    expect(details.parameterSize).toBe("24");
    await catalog.remove("split");
    expect(await filesBelow(made.path)).toEqual([]);
  });

  test("is refused when a part is missing", async () => {
    await using made = await makeStore();
    await using elsewhere = await makeTemporaryFolder("original");
    const paths = await saveParts(elsewhere.path);
    await rm(paths[2] ?? "");
    const refusal = createFromFile([made.store], { name: "split", file: paths[0] ?? "" });
    await expect(refusal).rejects.toMatchObject({ failure: { kind: "model-file-invalid" } });
    expect(await filesBelow(made.path)).toEqual([]);
  });
});
