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
  filesBelow,
  makeRecordedStore,
  makeStore,
  type RecordedAnswers,
  readFixture,
  type TestStore,
} from "../test/stores.ts";
import { type CreatingStep, createModel, createWhole, type ModelOrder } from "./create-model.ts";

const { createWithEverything: asked } = await readFixture<RecordedAnswers>("ollama-answers");
const everything = {
  template: asked["template"],
  system: asked["system"],
  licenses: [asked["license"]],
  parameters: asked["parameters"],
  messages: asked["messages"],
} as NonNullable<ModelOrder["extras"]>; // As recorded.

test("a model made from another with everything is the one that Ollama made, byte by byte", async () => {
  await using made = await makeRecordedStore();
  const recorded = await readManifest(made, "team/smol/small");
  const catalog = createCatalog([made.store]);
  await catalog.remove("team/smol:small");
  const origin = { kind: "model", name: "SMOL" } as const;
  const steps = await gather({ name: "team/smol:small", origin, extras: everything }, made);
  expect(await readManifest(made, "team/smol/small")).toBe(recorded);
  expect(steps.map((step) => (step.step === "keeping-layer" ? step.isNew : step.step))).toEqual([
    false,
    true,
    true,
    true,
    true,
    true,
    "writing-manifest",
  ]);
});

test("what a new model does not say it has from the other, by the same layers, and licences add up", async () => {
  await using made = await makeRecordedStore();
  const catalog = createCatalog([made.store]);
  const extras = { licenses: ["MIT"], parameters: { temperature: 0.9, seed: 7 } };
  const origin = { kind: "model", name: "team/smol:small" } as const;
  await createWhole([made.store], { name: "mine", origin, extras });
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

test("an alias of a model in a store that is only read lies in ours and takes its layers from there", async () => {
  await using below = await makeRecordedStore("read-only");
  await using made = await makeStore();
  const stores = [made.store, below.store] as const;
  const origin = { kind: "model", name: "smol" } as const;
  await createWhole(stores, { name: "mine", origin, extras: { system: "Be brief." } });
  const described = await createCatalog(stores).describe("mine");
  expect(described).toMatchObject({ system: "Be brief.", isReadOnly: false });
  expect(described.modelPath.startsWith(below.path)).toBe(true);
});

test("projectors and adapters among the files are told from the weights by their headers", async () => {
  await using made = await makeStore();
  const files = new Map([
    ["a.gguf", await upload(made, await readFile(await testModel("tiny-projector.gguf")))],
    ["b.gguf", await upload(made, await readFile(await testModel("tiny-llama.gguf")))],
    ["c.gguf", await upload(made, writeAdapter())],
  ]);
  await createWhole([made.store], { name: "m", origin: { kind: "blobs", files } });
  const described = await createCatalog([made.store]).describe("m");
  expect(described).toMatchObject({
    details: { family: "llama", families: ["llama", "clip", "llama"] },
    capabilities: expect.arrayContaining(["completion", "vision"]),
  });
  const digests = [...files.values()].map((digest) => digest.replace(":", "-"));
  const { projectorPaths, modelPath, adapterPaths } = described;
  const paths = [...projectorPaths, modelPath, ...adapterPaths];
  expect(paths).toEqual(digests.map((name) => join(made.path, "blobs", name)));
});

test("an adapter is put beside another model's weights, and only an adapter is taken for one", async () => {
  await using made = await makeStore();
  const weights = await readFile(await testModel("tiny-llama.gguf"));
  await createFromFile([made.store], { name: "tiny", file: await testModel("tiny-llama.gguf") });
  const origin = { kind: "model", name: "tiny" } as const;
  const digest = await upload(made, writeAdapter());
  await createWhole([made.store], { name: "tuned", origin, adapters: adaptersOf(digest) });
  expect((await createCatalog([made.store]).describe("tuned")).adapterPaths).toHaveLength(1);
  const wrong = { name: "wrong", origin, adapters: adaptersOf(digestOf(weights)) };
  await expect(createWhole([made.store], wrong)).rejects.toMatchObject({
    failure: { kind: "model-file-invalid" },
  });
});

test("weights are taken as what they are, and not converted", async () => {
  await using made = await makeRecordedStore();
  const order = { name: "m", origin: { kind: "model", name: "smol" } } as const;
  await createWhole([made.store], { ...order, quantization: "q4_1" });
  await expect(createWhole([made.store], { ...order, quantization: "F16" })).rejects.toMatchObject({
    failure: { kind: "parameter-invalid", parameter: "quantize" },
  });
});

test("a blob that another program wrote under a wrong digest makes no model", async () => {
  await using shared = await makeRecordedStore("shared");
  // The recording's weights stand for others of the same size, so their digest is not theirs.
  const wrong = "sha256:941f309b54caaad6747569ba43712bcde44a2be3bae16c3282ff499c37c54af5";
  const right = "sha256:b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53";
  await expect(createWhole([shared.store], orderOf(wrong))).rejects.toMatchObject({
    failure: { kind: "digest-mismatch" },
  });
  await createWhole([shared.store], orderOf(right));
});

test("a reader that leaves before the end leaves nothing behind", async () => {
  await using made = await makeStore();
  const before = await filesBelow(made.path);
  const origin = { kind: "files", paths: [await testModel("tiny-llama.gguf")] } as const;
  for await (const step of createModel([made.store], { name: "m", origin, extras: { system: "s" } })) {
    if (step.step === "writing-manifest") break;
  }
  expect(await filesBelow(made.path)).toEqual(before);
});

function adaptersOf(digest: string) {
  return { kind: "blobs", files: new Map([["a.gguf", digest]]) } as const;
}

function orderOf(digest: string): ModelOrder {
  return { name: "m", origin: { kind: "blobs", files: new Map([["m.gguf", digest]]) } };
}

async function gather(order: ModelOrder, { store }: TestStore): Promise<readonly CreatingStep[]> {
  return Array.fromAsync(createModel([store], order));
}

function readManifest({ path }: TestStore, name: string): Promise<string> {
  return readFile(join(path, "manifests/registry.ollama.ai", name), "utf8");
}

async function upload({ store }: TestStore, content: Buffer): Promise<string> {
  async function* pieces() {
    yield content;
  }
  return (await addBlob(store, digestOf(content), pieces())).digest;
}
