import { testModel } from "@hearth-and-keep/test-servers";
import { expect, test } from "vitest";
import { createCatalog } from "./catalog.ts";
import { createFromFile } from "./create-from-file.ts";
import type { ModelDescription, ModelSummary } from "./metadata/describe-model.ts";
import { flattenMetadata } from "./metadata/flatten-metadata.ts";
import { readStoredModel } from "./metadata/stored-model.ts";
import { parseModelName } from "./model-name.ts";
import { findManifest } from "./store/manifest-tree.ts";
import { createRecordedStore, createTestStore, type RecordedResponses, readFixture } from "./test/stores.ts";

const responses = await readFixture<RecordedResponses>("ollama-responses");

test("the list of a recorded Ollama store equals Ollama's own response, including digests and times", async () => {
  await using testStore = await createRecordedStore("read-only");
  const { models, errors } = await createCatalog([testStore.store]).list();
  expect(errors).toEqual([]);
  expect(models.map(toTag)).toEqual(responses.tags.models);
});

test("a model of that store is described as Ollama showed it", async () => {
  await using testStore = await createRecordedStore("read-only");
  const catalog = createCatalog([testStore.store]);
  const plain = await catalog.describe("smol");
  const layered = await catalog.describe("team/smol:small");
  const shown = ["template", "system", "license", "messages", "details", "parameters"];
  expect(toShow(plain)).toEqual(only(responses.show, shown));
  expect(toShow(layered)).toEqual(only(responses.showWithLayers, shown));
  expect(plain.modifiedAt).toBe(responses.show["modified_at"]);
  expect(plain.capabilities).toEqual(responses.show["capabilities"]);
  expect(layered.parameters.values).toEqual({
    contextTokens: 2048,
    stops: ["###", "<|im_end|>"],
    temperature: 0.3,
  });
});

test("the header's keys and tensors equal those that Ollama showed", async () => {
  await using testStore = await createRecordedStore("read-only");
  const file = await createCatalog([testStore.store]).inspect("smol");
  const flat = new Map(flattenMetadata(file.metadata, false));
  flat.set("general.parameter_count", file.parameterCount);
  for (const left of ["general.name", "tokenizer.chat_template"]) flat.delete(left);
  expect(Object.fromEntries(flat)).toEqual(responses.show["model_info"]);
  const tensors = file.tensors.map(({ name, type, shape }) => ({ name, type, shape }));
  // Ollama rewrites imported files with another order of tensors.
  const shown = responses.show["tensors"] as typeof tensors; // As recorded.
  expect(tensors.toSorted(byName)).toEqual(shown.toSorted(byName));
});

test("a model created with all extras has the same layers and configuration as in Ollama", async () => {
  await using recorded = await createRecordedStore("read-only");
  await using testStore = await createTestStore();
  const { template, system, license, parameters, messages } = responses.createWithEverything;
  await createFromFile([testStore.store], {
    name: "team/smol:small",
    file: await testModel("smollm2-135m-instruct-q4_1.gguf"),
    extras: { template, system, licenses: [license], parameters, messages } as object, // As recorded.
  });
  const ours = await readManifest(testStore.store);
  const theirs = await readManifest(recorded.store);
  expect(ours.config).toEqual(theirs.config);
  expect(ours.layers.slice(1)).toEqual(theirs.layers.slice(1));
  // The weights are the original file; Ollama's rewriting changed the digest.
  expect(ours.layers[0]).toEqual({
    mediaType: theirs.layers[0]?.mediaType,
    digest: "sha256:b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
    size: 98_362_432,
  });
});

async function readManifest(store: Parameters<typeof findManifest>[0]) {
  const location = await findManifest(store, parseModelName("team/smol:small"));
  if (location === undefined) throw new Error("Cannot find the model");
  return (await readStoredModel(location)).manifest;
}

function toTag(model: ModelSummary) {
  return {
    name: model.name,
    model: model.name,
    modified_at: model.modifiedAt,
    size: model.bytes,
    digest: model.digest.slice("sha256:".length),
    details: {
      ...toDetails(model),
      context_length: model.trainedContextTokens,
      embedding_length: model.embeddingLength,
    },
    capabilities: model.capabilities,
  };
}

function toDetails({ details }: ModelSummary) {
  return {
    parent_model: details.parentModel,
    format: details.format,
    family: details.family,
    families: details.families,
    parameter_size: details.parameterSize,
    quantization_level: details.quantization,
  };
}

function toShow(model: ModelDescription) {
  const lines = model.parameters.entries.flatMap(([name, value]) =>
    [value].flat().map((each) => name.padEnd(31) + JSON.stringify(each)),
  );
  return {
    template: model.template,
    details: toDetails(model),
    parameters: lines.join("\n"),
    ...(model.system === null ? {} : { system: model.system }),
    ...(model.licenses.length === 0 ? {} : { license: model.licenses.join("\n") }),
    ...(model.messages.length === 0 ? {} : { messages: model.messages }),
  };
}

function only(fields: Record<string, unknown>, names: readonly string[]) {
  return Object.fromEntries(Object.entries(fields).filter(([name]) => names.includes(name)));
}

function byName(one: { name: string }, other: { name: string }): number {
  return one.name < other.name ? -1 : 1;
}
