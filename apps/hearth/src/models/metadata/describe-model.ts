/**
 * @module
 * What a stored model is, in Hearth's words: its configuration, its small layers and its file's header put
 * together. Promises that sizes are bounded before anything is read, that small layers are hashed when they are
 * read, and that a header is read once for as long as the file stays the same. Imported by `models/` only.
 */
import { modelFailure } from "../model-failure.ts";
import { displayModelName, readModelName } from "../model-name.ts";
import { requireBlob } from "../store/blob-store.ts";
import type { Digest } from "../store/digest.ts";
import { type LayerKind, layersOf, sizeOf } from "../store/manifest.ts";
import { type OpenableModel, openableModel } from "../store/model-path.ts";
import type { ModelStores } from "../store/model-store.ts";
import { type Capability, listCapabilities } from "./capabilities.ts";
import {
  describeParameterCount,
  emptyConfig,
  type ModelConfig,
  mostConfigBytes,
  parseConfig,
} from "./config-blob.ts";
import type { HeaderFacts } from "./header-facts.ts";
import type { HeaderReader } from "./header-reader.ts";
import { mostMessageBytes, parseMessages, type StoredMessage } from "./messages.ts";
import {
  mostParameterBytes,
  noParameters,
  parseParameters,
  type ReadParameters,
} from "./model-parameters.ts";
import { readLayer, type StoredModel } from "./stored-model.ts";

export type ModelDetails = {
  /** The model that this one was made from; empty when there is none. */
  readonly parentModel: string;
  readonly format: string;
  readonly family: string;
  readonly families: readonly string[];
  readonly parameterSize: string;
  readonly quantization: string;
};

export type ModelSummary = {
  /** As short as it can be said, in the case it is stored in. */
  readonly name: string;
  /** Of the manifest. */
  readonly digest: Digest;
  /** All layers together. */
  readonly bytes: number;
  readonly modifiedAt: string;
  readonly details: ModelDetails;
  readonly trainedContextTokens: number | null;
  readonly embeddingLength: number | null;
  readonly capabilities: readonly Capability[];
  readonly isReadOnly: boolean;
};

export type ModelDescription = ModelSummary & {
  /** Ollama's template, in Go's language. */
  readonly template: string | null;
  /** The template of the model file itself. */
  readonly chatTemplate: string | null;
  readonly system: string | null;
  readonly parameters: ReadParameters;
  readonly messages: readonly StoredMessage[];
  readonly licenses: readonly string[];
  readonly modelPath: string;
  readonly projectorPaths: readonly string[];
  readonly adapterPaths: readonly string[];
  readonly header: HeaderFacts;
  /** Set on a model that runs on engines elsewhere: nothing of it lies here. */
  readonly remote?: RemoteRun;
};

export type RemoteRun = {
  /** By which the engines are found. */
  readonly name: string;
  /** How many requests all of its engines take at once. */
  readonly sequences: number;
};

export type DescribeParts = { readonly stores: ModelStores; readonly headers: HeaderReader };

export const mostTextBytes = 1024 * 1024;

/** What a list shows. A model whose file is missing or broken is still there, to be seen and deleted. */
export async function summarizeModel(
  model: StoredModel,
  { stores, headers }: DescribeParts,
): Promise<{ readonly summary: ModelSummary; readonly problem?: unknown }> {
  const config = await readConfig(stores, model);
  const template = await readTemplate(stores, model);
  try {
    const facts = await headers.readFacts(await openModel(stores, model));
    return { summary: summarize(model, { config, template, facts }) };
  } catch (problem) {
    return { summary: summarize(model, { config, template, facts: null }), problem };
  }
}

export async function describeModel(model: StoredModel, parts: DescribeParts): Promise<ModelDescription> {
  const { stores, headers } = parts;
  const config = await readConfig(stores, model);
  const opened = await openModel(stores, model);
  const header = await headers.readFacts(opened);
  const template = await readTemplate(stores, model);
  const [system] = await readTexts(stores, model, ["system"]);
  return {
    ...summarize(model, { config, template, facts: header }),
    template,
    chatTemplate: header.chatTemplate,
    system: system ?? null,
    parameters: await readOptional(stores, model, parametersLayer),
    messages: await readOptional(stores, model, messagesLayer),
    licenses: await readTexts(stores, model, ["license"]),
    modelPath: opened.path,
    projectorPaths: await findPaths(stores, model, "projector"),
    adapterPaths: await findPaths(stores, model, "adapter"),
    header,
  };
}

async function readConfig(stores: ModelStores, { place, manifest }: StoredModel): Promise<ModelConfig> {
  const layer = manifest.config;
  if (layer === null) return emptyConfig;
  const config = await readLayer(stores, { place, layer, mostBytes: mostConfigBytes }, parseConfig);
  const model = displayModelName(place.name);
  if (config.remoteHost !== undefined) throw modelFailure({ kind: "model-remote", model });
  return config;
}

/** The last one counts, where a manifest has several. */
async function readTemplate(stores: ModelStores, model: StoredModel): Promise<string | null> {
  return (await readTexts(stores, model, ["template", "prompt"])).at(-1) ?? null;
}

async function readTexts(
  stores: ModelStores,
  { place, manifest }: StoredModel,
  kinds: readonly LayerKind[],
): Promise<readonly string[]> {
  const texts: string[] = [];
  for (const layer of layersOf(manifest, ...kinds)) {
    texts.push(await readLayer(stores, { place, layer, mostBytes: mostTextBytes }, String));
  }
  return texts;
}

/** The path and mark of the model's file, or of the first of its parts. */
export async function openModel(
  stores: ModelStores,
  { place, manifest }: StoredModel,
): Promise<OpenableModel> {
  const layers = layersOf(manifest, "model");
  if (layers.length > 0) return openableModel(stores, layers);
  const model = displayModelName(place.name);
  throw modelFailure({ kind: "manifest-invalid", model, reason: "it has no GGUF file" });
}

type SummarySources = {
  readonly config: ModelConfig;
  readonly template: string | null;
  readonly facts: HeaderFacts | null;
};

function summarize(model: StoredModel, { config, template, facts }: SummarySources): ModelSummary {
  const { place, manifest, digest, modifiedAt } = model;
  const hasProjector = layersOf(manifest, "projector").length > 0;
  const named = config.capabilities;
  return {
    name: displayModelName(place.name),
    digest,
    bytes: sizeOf(manifest),
    modifiedAt,
    details: describeDetails(model, config, facts),
    trainedContextTokens: facts?.trainedContextTokens ?? null,
    embeddingLength: facts?.embeddingLength ?? null,
    capabilities: facts === null ? [] : listCapabilities({ facts, hasProjector, template, named }),
    isReadOnly: place.store.access === "read-only",
  };
}

function describeDetails(model: StoredModel, config: ModelConfig, facts: HeaderFacts | null): ModelDetails {
  const family = config.family ?? facts?.architecture ?? "";
  const [parent] = layersOf(model.manifest, "model").flatMap(({ from }) =>
    from === undefined ? [] : [from],
  );
  return {
    // Old manifests have a path of their machine here, which is nobody's business.
    parentModel: parent !== undefined && readModelName(parent) !== undefined ? parent : "",
    format: config.format ?? "gguf",
    family,
    families: config.families.length > 0 || family === "" ? config.families : [family],
    parameterSize:
      config.parameterSize ?? (facts === null ? "" : describeParameterCount(facts.parameterCount)),
    quantization: config.quantization ?? facts?.fileType ?? "",
  };
}

type OptionalLayer<Value> = {
  readonly kind: LayerKind;
  readonly mostBytes: number;
  readonly absent: Value;
  readonly parse: (content: Buffer) => Value;
};

const parametersLayer: OptionalLayer<ReadParameters> = {
  kind: "params",
  mostBytes: mostParameterBytes,
  absent: noParameters,
  parse: parseParameters,
};
const messagesLayer: OptionalLayer<readonly StoredMessage[]> = {
  kind: "messages",
  mostBytes: mostMessageBytes,
  absent: [],
  parse: parseMessages,
};

async function readOptional<Value>(
  stores: ModelStores,
  { place, manifest }: StoredModel,
  { kind, mostBytes, absent, parse }: OptionalLayer<Value>,
): Promise<Value> {
  const layer = layersOf(manifest, kind).at(-1);
  return layer === undefined ? absent : readLayer(stores, { place, layer, mostBytes }, parse);
}

async function findPaths(stores: ModelStores, { manifest }: StoredModel, kind: LayerKind): Promise<string[]> {
  const found = await Promise.all(layersOf(manifest, kind).map((layer) => requireBlob(stores, layer)));
  return found.map(({ path }) => path);
}
