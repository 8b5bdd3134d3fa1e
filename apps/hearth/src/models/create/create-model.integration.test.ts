import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { testModel } from "@hearth-and-keep/test-servers";
import { expect, test } from "vitest";
import { createCatalog } from "../catalog.ts";
import { createFromFile } from "../create-from-file.ts";
import { addBlob } from "../store/blob-store.ts";
import { digestOf } from "../store/digest.ts";
import { writeAdapter } from "../test/adapter-file.ts";
import {
  createRecordedStore,
  createTestStore,
  listFiles,
  type RecordedResponses,
  readFixture,
  type TestStore,
} from "../test/stores.ts";
import { type CreateModelRequest, type CreateStep, createModel, createModelAndWait } from "./create-model.ts";

const { createWithEverything: recordedRequest } = await readFixture<RecordedResponses>("ollama-responses");
const everything = {
  template: recordedRequest["template"],
  system: recordedRequest["system"],
  licenses: [recordedRequest["license"]],
  parameters: recordedRequest["parameters"],
  messages: recordedRequest["messages"],
} as NonNullable<CreateModelRequest["extras"]>; // As recorded.

test("a model created from another with all extras is byte-identical to Ollama's", async () => {
  await using testStore = await createRecordedStore();
  const recorded = await readManifest(testStore, "team/smol/small");
  const catalog = createCatalog([testStore.store]);
  await catalog.remove("team/smol:small");
  const source = { kind: "model", name: "SMOL" } as const;
  const steps = await collectSteps({ name: "team/smol:small", source, extras: everything }, testStore);
  expect(await readManifest(testStore, "team/smol/small")).toBe(recorded);
  expect(steps.map((step) => (step.step === "saving-layer" ? step.isNew : step.step))).toEqual([
    false,
    true,
    true,
    true,
    true,
    true,
    "writing-manifest",
  ]);
});

test("unset fields are inherited by sharing layers, and licences accumulate", async () => {
  await using testStore = await createRecordedStore();
  const catalog = createCatalog([testStore.store]);
  const extras = { licenses: ["MIT"], parameters: { temperature: 0.9, seed: 7 } };
  const source = { kind: "model", name: "team/smol:small" } as const;
  await createModelAndWait([testStore.store], { name: "mine", source, extras });
  const [base, mine] = [await catalog.describe("team/smol:small"), await catalog.describe("mine")];
  expect(mine).toMatchObject({
    template: base.template,
    system: "You are terse.",
    messages: base.messages,
    licenses: ["Apache-2.0", "MIT"],
    modelPath: base.modelPath,
    details: { ...base.details, parentModel: "team/smol:small" },
  });
  expect(mine.parameters.values).toEqual({
    temperature: 0.9,
    seed: 7,
    contextTokens: 2048,
    stops: ["###", "<|im_end|>"],
  });
});

test("a model based on one in a read-only store is saved in ours and uses its layers", async () => {
  await using below = await createRecordedStore("read-only");
  await using testStore = await createTestStore();
  const stores = [testStore.store, below.store] as const;
  const source = { kind: "model", name: "smol" } as const;
  await createModelAndWait(stores, { name: "mine", source, extras: { system: "Be brief." } });
  const description = await createCatalog(stores).describe("mine");
  expect(description).toMatchObject({ system: "Be brief.", isReadOnly: false });
  expect(description.modelPath.startsWith(below.path)).toBe(true);
});

test("projectors and adapters are recognised by their headers", async () => {
  await using testStore = await createTestStore();
  const files = new Map([
    ["a.gguf", await upload(testStore, await readFile(await testModel("tiny-projector.gguf")))],
    ["b.gguf", await upload(testStore, await readFile(await testModel("tiny-llama.gguf")))],
    ["c.gguf", await upload(testStore, writeAdapter())],
  ]);
  await createModelAndWait([testStore.store], { name: "m", source: { kind: "blobs", files } });
  const description = await createCatalog([testStore.store]).describe("m");
  expect(description).toMatchObject({
    details: { family: "llama", families: ["llama", "clip", "llama"] },
    capabilities: expect.arrayContaining(["completion", "vision"]),
  });
  const digests = [...files.values()].map((digest) => digest.replace(":", "-"));
  const { projectorPaths, modelPath, adapterPaths } = description;
  const paths = [...projectorPaths, modelPath, ...adapterPaths];
  expect(paths).toEqual(digests.map((name) => join(testStore.path, "blobs", name)));
});

test("an adapter is added to another model's weights, and only adapters are accepted", async () => {
  await using testStore = await createTestStore();
  const weights = await readFile(await testModel("tiny-llama.gguf"));
  await createFromFile([testStore.store], { name: "tiny", file: await testModel("tiny-llama.gguf") });
  const source = { kind: "model", name: "tiny" } as const;
  const digest = await upload(testStore, writeAdapter());
  await createModelAndWait([testStore.store], { name: "tuned", source, adapters: adaptersOf(digest) });
  expect((await createCatalog([testStore.store]).describe("tuned")).adapterPaths).toHaveLength(1);
  const wrong = { name: "wrong", source, adapters: adaptersOf(digestOf(weights)) };
  await expect(createModelAndWait([testStore.store], wrong)).rejects.toMatchObject({
    failure: { kind: "model-file-invalid" },
  });
});

test("a different quantization is rejected, because weights are not converted", async () => {
  await using testStore = await createRecordedStore();
  const request = { name: "m", source: { kind: "model", name: "smol" } } as const;
  await createModelAndWait([testStore.store], { ...request, quantization: "q4_1" });
  await expect(
    createModelAndWait([testStore.store], { ...request, quantization: "F16" }),
  ).rejects.toMatchObject({
    failure: { kind: "parameter-invalid", parameter: "quantize" },
  });
});

test("a blob that another program stored under a wrong digest is rejected", async () => {
  await using shared = await createRecordedStore("shared");
  // The fixture's weights only have the size of the recorded ones, so their digest is wrong.
  const wrong = "sha256:941f309b54caaad6747569ba43712bcde44a2be3bae16c3282ff499c37c54af5";
  const right = "sha256:b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53";
  await expect(createModelAndWait([shared.store], requestFor(wrong))).rejects.toMatchObject({
    failure: { kind: "digest-mismatch" },
  });
  await createModelAndWait([shared.store], requestFor(right));
});

test("a consumer that stops early leaves nothing behind", async () => {
  await using testStore = await createTestStore();
  const before = await listFiles(testStore.path);
  const source = { kind: "files", paths: [await testModel("tiny-llama.gguf")] } as const;
  for await (const step of createModel([testStore.store], {
    name: "m",
    source,
    extras: { system: "s" },
  })) {
    if (step.step === "writing-manifest") break;
  }
  expect(await listFiles(testStore.path)).toEqual(before);
});

function adaptersOf(digest: string) {
  return { kind: "blobs", files: new Map([["a.gguf", digest]]) } as const;
}

function requestFor(digest: string): CreateModelRequest {
  return { name: "m", source: { kind: "blobs", files: new Map([["m.gguf", digest]]) } };
}

async function collectSteps(
  request: CreateModelRequest,
  { store }: TestStore,
): Promise<readonly CreateStep[]> {
  return Array.fromAsync(createModel([store], request));
}

function readManifest({ path }: TestStore, name: string): Promise<string> {
  return readFile(join(path, "manifests/registry.ollama.ai", name), "utf8");
}

async function upload({ store }: TestStore, content: Buffer): Promise<string> {
  async function* chunks() {
    yield content;
  }
  return (await addBlob(store, digestOf(content), chunks())).digest;
}
