import { copyFile, readFile, stat, truncate, writeFile } from "node:fs/promises";
import { basename, join } from "node:path";
import { fileURLToPath } from "node:url";
import { beforeAll, expect, test } from "vitest";
import { preparePython } from "../python/prepare-python.ts";
import { runPython } from "../python/run-python.ts";
import { makeTemporaryFolder } from "../temporary-folder.ts";
import { verifyContent } from "./refuse-other-content.ts";
import { corpusModels, type ModelEntry, type TestModelName, testModel } from "./test-model.ts";

type ReadFile = {
  readonly path: string;
  readonly error?: string;
  readonly valueTypes: readonly string[];
  readonly deepestArray: number;
  readonly tensorTypes: readonly string[];
  readonly tensors: number;
  readonly alignment: number;
};

beforeAll(async () => {
  await preparePython();
  await testModel("tiny-llama.gguf");
}, 900_000);

test("every model of the manifest is built, with its size, licence and origin", async () => {
  const models = await readManifest();
  const named = models.filter(({ file }) => !file.startsWith("corpus/"));
  for (const { file, size, licence, origin } of named) {
    // The manifest lists the names that testModel accepts; an unknown one throws.
    const path = await testModel(file as TestModelName);
    expect((await stat(path)).size).toBe(size);
    expect(licence).toBe("Apache-2.0");
    expect(origin).not.toBe("");
  }
  expect(named.length).toBe(9);
  expect(await corpusModels()).toHaveLength(models.length - named.length);
});

test("a model that is not in the manifest is rejected", async () => {
  // A name outside the union, as untyped code could pass.
  const unknown = "huge-llama.gguf" as TestModelName;
  await expect(testModel(unknown)).rejects.toThrow('Cannot find the test model "huge-llama.gguf"');
});

test("a file with one flipped bit is rejected, the unchanged file is accepted", async () => {
  await using folder = await makeTemporaryFolder("models");
  const entries = (await readManifest()).filter(({ file }) => file === "tiny-projector.gguf");
  const copy = join(folder.path, "tiny-projector.gguf");
  await copyFile(await testModel("tiny-projector.gguf"), copy);
  await verifyContent(folder.path, entries);
  const content = await readFile(copy);
  content.writeUInt8(content.readUInt8(100_000) ^ 1, 100_000);
  await writeFile(copy, content);
  await expect(verifyContent(folder.path, entries)).rejects.toThrow(/its sha256 is .*expected/);
});

test("the corpus is small and valid, and covers the whole format", async () => {
  const paths = await corpusModels();
  const files = await readGguf(paths);
  expect(files.filter(({ error }) => error !== undefined)).toEqual([]);
  expect(files.length).toBeGreaterThanOrEqual(10);
  const sizes = await Promise.all(paths.map(async (path) => (await stat(path)).size));
  expect(sizes.reduce((sum, size) => sum + size, 0)).toBeLessThan(3_000_000);
  const scalars = "UINT8 INT8 UINT16 INT16 UINT32 INT32 FLOAT32 BOOL STRING UINT64 INT64 FLOAT64".split(" ");
  expect(new Set(files.flatMap(({ valueTypes }) => valueTypes))).toEqual(new Set([...scalars, "ARRAY"]));
  expect(new Set(files.map(({ alignment }) => alignment))).toEqual(new Set([8, 32, 64, 4096]));
  expect(Math.max(...files.map(({ deepestArray }) => deepestArray))).toBeGreaterThanOrEqual(2);
  expect(Math.min(...files.map(({ tensors }) => tensors))).toBe(0);
  expect(new Set(files.flatMap(({ tensorTypes }) => tensorTypes)).size).toBeGreaterThanOrEqual(20);
  process.stdout.write(`Corpus: ${files.length} of ${paths.length} files accepted by the reader\n`);
});

test("the reader that accepts the corpus rejects a truncated file", async () => {
  await using folder = await makeTemporaryFolder("models");
  const paths = (await corpusModels()).filter((path) => /(strings|many-tensors)/.test(basename(path)));
  expect(paths).toHaveLength(2);
  const cut = await Promise.all(
    paths.map(async (path) => {
      const copy = join(folder.path, basename(path));
      await copyFile(path, copy);
      await truncate(copy, Math.floor((await stat(copy)).size / 2));
      return copy;
    }),
  );
  expect((await readGguf(cut)).filter(({ error }) => error === undefined)).toEqual([]);
});

async function readManifest(): Promise<readonly ModelEntry[]> {
  const written = await readFile(
    new URL("../../../../scripts/test-models/models.json", import.meta.url),
    "utf8",
  );
  // The manifest is committed, and written in this shape by make-test-models.py.
  return (JSON.parse(written) as { models: readonly ModelEntry[] }).models;
}

async function readGguf(paths: readonly string[]): Promise<readonly ReadFile[]> {
  const script = fileURLToPath(new URL("fixtures/read-gguf.py", import.meta.url));
  // The shape is what the fixture prints.
  return JSON.parse(await runPython(script, paths)) as readonly ReadFile[];
}
