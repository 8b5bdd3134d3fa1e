import { mkdir, readdir, readFile, rm, stat, symlink, utimes, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { hasLooseTimingBounds, recordFigure } from "@hearth-and-keep/figures";
import { makeTemporaryFolder, testModel } from "@hearth-and-keep/test-servers";
import { describe, expect, test } from "vitest";
import { createCatalog } from "./catalog.ts";
import { createFromFile } from "./create-from-file.ts";
import { addBlob } from "./store/blob-store.ts";
import { digestOf } from "./store/digest.ts";
import { createRecordedStore, createTestStore, listFiles, type TestStore } from "./test/stores.ts";

const digest = `sha256:${"ab".repeat(32)}`;

describe("finding a model", () => {
  test("names are case-insensitive and keep their stored case", async () => {
    await using testStore = await createRecordedStore();
    const catalog = createCatalog([testStore.store]);
    await catalog.copy("SMOL", "Big/Name:Tag");
    expect((await catalog.describe("bIG/nAME:tAG")).name).toBe("Big/Name:Tag");
    await catalog.copy("smol", "BIG/NAME:TAG");
    expect((await catalog.list()).models.map(({ name }) => name)).toContain("Big/Name:Tag");
    expect((await catalog.list()).models).toHaveLength(3);
  });

  test("an unknown name and the name of a cloud model are different failures", async () => {
    await using testStore = await createRecordedStore();
    const catalog = createCatalog([testStore.store]);
    await expect(catalog.describe("nope")).rejects.toMatchObject({
      failure: { kind: "model-not-found", model: "nope" },
    });
    await expect(catalog.describe("smol:120b-cloud")).rejects.toMatchObject({
      failure: { kind: "model-remote" },
    });
    expect((await catalog.describe("smol")).name).toBe("smol:latest");
  });

  test("a name with a digest is only found when the manifest has that digest", async () => {
    await using testStore = await createRecordedStore();
    const catalog = createCatalog([testStore.store]);
    const right = "sha256:fd5f44c0b5aff6453726119fc560d73a8a995a55b4a49804bc24b1969ecf1794";
    expect((await catalog.describe(`smol@${right}`)).digest).toBe(right);
    await expect(catalog.describe(`smol@${digest}`)).rejects.toMatchObject({
      failure: { kind: "model-not-found" },
    });
  });
});

describe("broken manifests are skipped and reported", () => {
  const good = JSON.stringify({ schemaVersion: 2, config: null, layers: [] });
  test.each([
    { rule: "not JSON", content: "{", reason: "it is not valid JSON" },
    { rule: "not an object", content: "[]", reason: "it must be of type object" },
    { rule: "another schema version", content: '{"schemaVersion":1}', reason: '"schemaVersion" must be 2' },
    { rule: "no layers", content: good, reason: "it has no GGUF file" },
    {
      rule: "a digest that is a path",
      content: '{"schemaVersion":2,"layers":[{"digest":"sha256:../../x","size":1}]}',
      reason: '"layers.0.digest" must match pattern',
    },
    {
      rule: "a negative size",
      content: `{"schemaVersion":2,"layers":[{"digest":"${digest}","size":-1}]}`,
      reason: '"layers.0.size" must be >= 0',
    },
    {
      rule: "larger than a megabyte",
      content: `${good}${" ".repeat(1024 * 1024)}`,
      reason: "it is larger than",
    },
    {
      rule: "the stub of a cloud model",
      content: null,
      reason: "model-remote",
    },
  ])("$rule", async ({ content, reason }) => {
    await using testStore = await createRecordedStore();
    await writeManifest(testStore, "broken", content ?? (await writeStub(testStore)));
    const { models, errors } = await createCatalog([testStore.store]).list();
    expect(models.map(({ name }) => name)).toEqual(
      expect.arrayContaining(["smol:latest", "team/smol:small"]),
    );
    expect(errors).toEqual([{ name: "broken:latest", reason: expect.stringContaining(reason) }]);
  });

  test("links, invalid names and misplaced files are neither listed nor followed", async () => {
    await using testStore = await createRecordedStore();
    await using elsewhere = await makeTemporaryFolder("elsewhere");
    const manifests = join(testStore.path, "manifests/registry.ollama.ai");
    await mkdir(join(elsewhere.path, "m"), { recursive: true });
    const content = await readFile(join(manifests, "library/smol/latest"));
    await writeFile(join(elsewhere.path, "m/latest"), content);
    await symlink(join(elsewhere.path, "m/latest"), join(manifests, "library/smol/linked"));
    await symlink(elsewhere.path, join(manifests, "outside"));
    await writeFile(join(manifests, "library/stray"), content);
    await writeFile(join(manifests, "library/smol/-bad name"), content);
    await writeFile(join(manifests, "library/smol/.DS_Store"), "x");
    const catalog = createCatalog([testStore.store]);
    const { models, errors } = await catalog.list();
    expect(models).toHaveLength(2);
    expect(errors).toHaveLength(4);
    for (const name of ["smol:linked", "outside/m"]) {
      await expect(catalog.describe(name)).rejects.toMatchObject({ failure: { kind: "model-not-found" } });
    }
    expect((await catalog.remove("smol")).freedBlobs).toEqual([]);
  });

  test("a model without its weights is listed and reported, cannot be described, and can be removed", async () => {
    await using testStore = await createRecordedStore();
    await rm(
      join(testStore.path, "blobs/sha256-941f309b54caaad6747569ba43712bcde44a2be3bae16c3282ff499c37c54af5"),
    );
    const catalog = createCatalog([testStore.store]);
    const { models, errors } = await catalog.list();
    expect(models.map(({ details }) => details.parameterSize)).toEqual(["134.52M", "134.52M"]);
    expect(errors.map(({ reason }) => reason)).toEqual(["blob-missing", "blob-missing"]);
    await expect(catalog.describe("smol")).rejects.toMatchObject({ failure: { kind: "blob-missing" } });
    await catalog.remove("smol");
    expect((await catalog.list()).models).toHaveLength(1);
  });
});

describe("removing a model", () => {
  test("frees blobs that no other model uses", async () => {
    await using testStore = await createRecordedStore();
    const catalog = createCatalog([testStore.store]);
    const first = await catalog.remove("TEAM/smol:small");
    expect(first).toMatchObject({ name: "team/smol:small", freedBytes: 169 + 14 + 10 + 73 + 73 });
    expect((await catalog.describe("smol")).parameters.values.stops).toHaveLength(2);
    const second = await catalog.remove("smol");
    expect(second.freedBytes).toBe(98_362_432 + 152 + 102 + 59);
    // The original file, which Ollama rewrote on import, is referenced by no manifest and therefore stays.
    expect(await listFiles(testStore.path)).toEqual([
      "blobs/sha256-b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
    ]);
  });

  test("removes only the name in a store that another program uses", async () => {
    await using testStore = await createRecordedStore("shared");
    const blobs = (await listFiles(testStore.path)).filter((path) => path.startsWith("blobs/"));
    const removed = await createCatalog([testStore.store]).remove("team/smol:small");
    expect(removed).toMatchObject({ freedBytes: 0, freedBlobs: [] });
    expect((await listFiles(testStore.path)).filter((path) => path.startsWith("blobs/"))).toEqual(blobs);
  });

  test("frees nothing while a manifest is unreadable, because it may reference any blob", async () => {
    await using testStore = await createRecordedStore();
    await writeManifest(testStore, "broken", "{");
    const catalog = createCatalog([testStore.store]);
    expect((await catalog.remove("team/smol:small")).freedBytes).toBe(0);
    expect((await catalog.list()).models.map(({ name }) => name)).toEqual(["smol:latest"]);
  });

  test("fails for an unknown name", async () => {
    await using testStore = await createRecordedStore();
    await expect(createCatalog([testStore.store]).remove("nope")).rejects.toMatchObject({
      failure: { kind: "model-not-found", model: "nope" },
    });
  });

  test("never removes a blob that a concurrent import of the same file uses", async () => {
    await using testStore = await createTestStore();
    const catalog = createCatalog([testStore.store]);
    const file = await testModel("tiny-llama.gguf");
    for (let round = 0; round < 5; round += 1) {
      await createFromFile([testStore.store], { name: "old", file });
      await Promise.all([createFromFile([testStore.store], { name: "new", file }), catalog.remove("old")]);
      expect((await catalog.describe("new")).header.architecture).toBe("llama");
      await catalog.remove("new");
    }
    expect(await listFiles(testStore.path)).toEqual([]);
  });
});

describe("our own store with a read-only store", () => {
  test("names in our store take precedence, the read-only store is never written, and copies use its blobs", async () => {
    await using below = await createRecordedStore("read-only");
    await using own = await createTestStore();
    const before = await listFiles(below.path);
    const catalog = createCatalog([own.store, below.store]);
    expect((await catalog.describe("smol")).isReadOnly).toBe(true);
    await expect(catalog.remove("smol")).rejects.toMatchObject({ failure: { kind: "store-read-only" } });
    await catalog.copy("smol", "mine");
    expect((await catalog.describe("mine")).isReadOnly).toBe(false);
    await createFromFile([own.store, below.store], {
      name: "Smol",
      file: await testModel("tiny-llama.gguf"),
    });
    expect((await catalog.describe("smol")).details.parameterSize).toBe("1.73M");
    const { models } = await catalog.list();
    expect(new Map(models.map(({ name, isReadOnly }) => [name, isReadOnly]))).toEqual(
      new Map([
        ["Smol:latest", false],
        ["mine:latest", false],
        ["team/smol:small", true],
      ]),
    );
    await catalog.remove("smol");
    expect((await catalog.describe("smol")).details.parameterSize).toBe("134.52M");
    expect(await listFiles(below.path)).toEqual(before);
  });
});

test("models are listed newest first, and by name within the same second", async () => {
  await using testStore = await createRecordedStore();
  const catalog = createCatalog([testStore.store]);
  for (const [name, second] of Object.entries({ a: 10, b: 30, d: 20.9, c: 20.1 })) {
    await catalog.copy("smol", name);
    await utimes(
      join(testStore.path, "manifests/registry.ollama.ai/library", name, "latest"),
      second,
      second,
    );
  }
  await catalog.remove("smol");
  await catalog.remove("team/smol:small");
  const { models } = await catalog.list();
  expect(models.map(({ name }) => name)).toEqual(["b:latest", "c:latest", "d:latest", "a:latest"]);
});

test("a thousand unchanged models are listed within 50 ms", async () => {
  await using testStore = await createRecordedStore();
  const catalog = createCatalog([testStore.store]);
  const content = await readFile(
    join(testStore.path, "manifests/registry.ollama.ai/library/smol/latest"),
    "utf8",
  );
  for (let index = 0; index < 998; index += 1) await writeManifest(testStore, `model-${index}`, content);
  expect((await catalog.list()).models).toHaveLength(1000);
  const warm = await bestOf(20, () => catalog.list());
  const bare = await bestOf(20, () => readBare(testStore.path));
  // On a busy machine even the bare system calls take long.
  expect(warm).toBeLessThan(hasLooseTimingBounds ? 500 : Math.max(50, 4 * bare));
  const text = `1000 models listed in ${warm.toFixed(0)} ms, warm (bare system calls: ${bare.toFixed(0)} ms), best of 20`;
  recordFigure({ claim: "store 9", text });
});

async function writeManifest({ path }: TestStore, model: string, content: string): Promise<void> {
  const folder = join(path, "manifests/registry.ollama.ai/library", model);
  await mkdir(folder, { recursive: true });
  await writeFile(join(folder, "latest"), content);
}

async function writeStub(testStore: TestStore): Promise<string> {
  const config = '{"model_format":"","remote_host":"https://elsewhere.example","remote_model":"m"}';
  const stored = await addBlob(testStore.store, digestOf(config), streamOf(config));
  return JSON.stringify({ schemaVersion: 2, config: { mediaType: "x", ...stored }, layers: [] });
}

async function* streamOf(text: string): AsyncGenerator<Uint8Array> {
  yield Buffer.from(text);
}

async function bestOf(rounds: number, work: () => Promise<unknown>): Promise<number> {
  let best = Number.POSITIVE_INFINITY;
  for (let round = 0; round < rounds; round += 1) {
    const start = performance.now();
    await work();
    best = Math.min(best, performance.now() - start);
  }
  return best;
}

async function readBare(path: string): Promise<void> {
  const library = join(path, "manifests/registry.ollama.ai/library");
  const names = await readdir(library);
  await Promise.all(names.map((name) => readdir(join(library, name), { withFileTypes: true })));
  await Promise.all(names.map((name) => stat(join(library, name, "latest"), { bigint: true })));
}
