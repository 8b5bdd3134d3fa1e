/**
 * @module
 * Descriptions of stored models, combined from the configuration, the small layers and the header of the model file.
 * Guarantees that sizes are checked before anything is read, that the digests of small layers are verified, and that a
 * header is parsed once until the file changes. Imported by `models/` only.
 */
import { modelFailure } from "../model-failure.ts";
import { displayModelName, tryParseModelName } from "../model-name.ts";
import { requireBlob } from "../store/blob-store.ts";
import type { Digest } from "../store/digest.ts";
import { type LayerKind, layersOf, totalBytes } from "../store/manifest.ts";
import { type ResolvedModelFile, resolveModelFiles } from "../store/model-path.ts";
import type { ModelStores } from "../store/model-store.ts";
import { type Capability, listCapabilities, type ProjectorCapabilities } from "./capabilities.ts";
import {
  emptyConfig,
  formatParameterCount,
  type ModelConfig,
  maxConfigBytes,
  parseConfig,
} from "./config-blob.ts";
import type { HeaderFacts } from "./header-facts.ts";
import type { HeaderReader } from "./header-reader.ts";
import { parseMessages, type StoredMessage } from "./messages.ts";
import { noParameters, type ParsedParameters, parseParameters } from "./model-parameters.ts";
import { maxMessageBytes, maxParameterBytes } from "./schema.ts";
import { readLayer, type StoredModel } from "./stored-model.ts";

export type ModelDetails = {
  /** The model that this one was created from; empty when there is none. */
  readonly parentModel: string;
  readonly format: string;
  readonly family: string;
  readonly families: readonly string[];
  readonly parameterSize: string;
  readonly quantization: string;
};

export type ModelSummary = {
  /** The short form of the name, in the stored case. */
  readonly name: string;
  /** SHA-256 of the manifest. */
  readonly digest: Digest;
  /** Total size of all layers. */
  readonly bytes: number;
  readonly modifiedAt: string;
  readonly details: ModelDetails;
  readonly trainedContextTokens: number | null;
  readonly embeddingLength: number | null;
  readonly capabilities: readonly Capability[];
  readonly isReadOnly: boolean;
  /** Null if the file is missing or broken. */
  readonly header: HeaderFacts | null;
  /** The context in the model's own parameters, which applies to requests that set none. */
  readonly ownContextTokens: number | undefined;
  /** Set on a model that runs on remote engines and has no files on this machine. */
  readonly remote?: RemoteExecution;
  /** Set on an alias: the name of the model that it stands for. */
  readonly aliasOf?: string;
};

export type ModelDescription = ModelSummary & {
  /** Ollama's Go template. */
  readonly template: string | null;
  /** The Jinja template in the model file. */
  readonly chatTemplate: string | null;
  readonly system: string | null;
  readonly parameters: ParsedParameters;
  readonly messages: readonly StoredMessage[];
  readonly licenses: readonly string[];
  readonly modelPath: string;
  readonly projectorPaths: readonly string[];
  readonly adapterPaths: readonly string[];
  readonly header: HeaderFacts;
};

export type RemoteExecution = {
  /** The key under which its engines are looked up. */
  readonly name: string;
  /** Concurrent requests that all of its engines accept together. */
  readonly sequences: number;
  /** Engines of the operator's own network, or of somebody else. */
  readonly location: "pool" | "remote";
};

export type DescribeDependencies = { readonly stores: ModelStores; readonly headers: HeaderReader };

export const maxTextBytes = 1024 * 1024;

/** The summary for a list. A model whose file is missing or broken is still listed, so that it can be deleted. */
export async function summarizeModel(
  model: StoredModel,
  { stores, headers }: DescribeDependencies,
): Promise<{ readonly summary: ModelSummary; readonly error?: unknown }> {
  const config = await readConfig(stores, model);
  const template = await readTemplate(stores, model);
  try {
    const facts = await headers.readFacts(await resolveModelFile(stores, model));
    const parameters = await readOptional(stores, model, parametersLayer);
    const projector = await readProjector(model, { stores, headers });
    return { summary: summarize(model, { config, template, facts, projector, parameters }) };
  } catch (error) {
    const unknown = { facts: null, projector: undefined, parameters: noParameters };
    return { summary: summarize(model, { config, template, ...unknown }), error };
  }
}

export async function describeModel(
  model: StoredModel,
  { stores, headers }: DescribeDependencies,
): Promise<ModelDescription> {
  const config = await readConfig(stores, model);
  const file = await resolveModelFile(stores, model);
  const header = await headers.readFacts(file);
  const template = await readTemplate(stores, model);
  const [system] = await readTexts(stores, model, ["system"]);
  const parameters = await readOptional(stores, model, parametersLayer);
  const projector = await readProjector(model, { stores, headers });
  return {
    ...summarize(model, { config, template, facts: header, projector, parameters }),
    template,
    chatTemplate: header.chatTemplate,
    system: system ?? null,
    parameters,
    messages: await readOptional(stores, model, messagesLayer),
    licenses: await readTexts(stores, model, ["license"]),
    modelPath: file.path,
    projectorPaths: await findPaths(stores, model, "projector"),
    adapterPaths: await findPaths(stores, model, "adapter"),
    header,
  };
}

async function readConfig(stores: ModelStores, { location, manifest }: StoredModel): Promise<ModelConfig> {
  const layer = manifest.config;
  if (layer === null) return emptyConfig;
  const config = await readLayer(stores, { location, layer, maxBytes: maxConfigBytes }, parseConfig);
  const model = displayModelName(location.name);
  if (config.remoteHost !== undefined) throw modelFailure({ kind: "model-remote", model });
  return config;
}

/** If a manifest has several templates, the last one is used. */
async function readTemplate(stores: ModelStores, model: StoredModel): Promise<string | null> {
  return (await readTexts(stores, model, ["template", "prompt"])).at(-1) ?? null;
}

async function readTexts(
  stores: ModelStores,
  { location, manifest }: StoredModel,
  kinds: readonly LayerKind[],
): Promise<readonly string[]> {
  const texts: string[] = [];
  for (const layer of layersOf(manifest, ...kinds)) {
    texts.push(await readLayer(stores, { location, layer, maxBytes: maxTextBytes }, String));
  }
  return texts;
}

/** The path and fingerprint of the model file, or of the first shard of a split model. */
export async function resolveModelFile(
  stores: ModelStores,
  { location, manifest }: StoredModel,
): Promise<ResolvedModelFile> {
  const layers = layersOf(manifest, "model");
  if (layers.length > 0) return resolveModelFiles(stores, layers);
  const model = displayModelName(location.name);
  throw modelFailure({ kind: "manifest-invalid", model, reason: "it has no GGUF file" });
}

/** Projectors from before audio name no encoder: they have one for images. */
async function readProjector(
  { manifest }: StoredModel,
  { stores, headers }: DescribeDependencies,
): Promise<ProjectorCapabilities | undefined> {
  const layers = layersOf(manifest, "projector");
  if (layers.length === 0) return undefined;
  const { capabilities } = await headers.readFacts(await resolveModelFiles(stores, layers.slice(0, 1)));
  const { vision, audio } = capabilities;
  return { vision: vision || !audio, audio };
}

type SummaryInput = {
  readonly config: ModelConfig;
  readonly template: string | null;
  readonly facts: HeaderFacts | null;
  readonly projector: ProjectorCapabilities | undefined;
  readonly parameters: ParsedParameters;
};

function summarize(model: StoredModel, input: SummaryInput): ModelSummary {
  const { config, template, facts, projector, parameters } = input;
  const { location, manifest, digest, modifiedAt } = model;
  const declared = config.capabilities;
  return {
    name: displayModelName(location.name),
    digest,
    bytes: totalBytes(manifest),
    modifiedAt,
    details: describeDetails(model, config, facts),
    trainedContextTokens: facts?.trainedContextTokens ?? null,
    embeddingLength: facts?.embeddingLength ?? null,
    capabilities: facts === null ? [] : listCapabilities({ facts, projector, template, declared }),
    isReadOnly: location.store.access === "read-only",
    header: facts,
    ownContextTokens: parameters.values.contextTokens,
  };
}

function describeDetails(model: StoredModel, config: ModelConfig, facts: HeaderFacts | null): ModelDetails {
  const family = config.family ?? facts?.architecture ?? "";
  const [parent] = layersOf(model.manifest, "model").flatMap(({ from }) =>
    from === undefined ? [] : [from],
  );
  return {
    // Old manifests have a local path here, which must not be disclosed.
    parentModel: parent !== undefined && tryParseModelName(parent) !== undefined ? parent : "",
    format: config.format ?? "gguf",
    family,
    families: config.families.length > 0 || family === "" ? config.families : [family],
    parameterSize: config.parameterSize ?? (facts === null ? "" : formatParameterCount(facts.parameterCount)),
    quantization: config.quantization ?? facts?.fileType ?? "",
  };
}

type OptionalLayer<Value> = {
  readonly kind: LayerKind;
  readonly maxBytes: number;
  readonly defaultValue: Value;
  readonly parse: (content: Buffer) => Value;
};

const parametersLayer: OptionalLayer<ParsedParameters> = {
  kind: "params",
  maxBytes: maxParameterBytes,
  defaultValue: noParameters,
  parse: parseParameters,
};
const messagesLayer: OptionalLayer<readonly StoredMessage[]> = {
  kind: "messages",
  maxBytes: maxMessageBytes,
  defaultValue: [],
  parse: parseMessages,
};

async function readOptional<Value>(
  stores: ModelStores,
  { location, manifest }: StoredModel,
  { kind, maxBytes, defaultValue, parse }: OptionalLayer<Value>,
): Promise<Value> {
  const layer = layersOf(manifest, kind).at(-1);
  return layer === undefined ? defaultValue : readLayer(stores, { location, layer, maxBytes }, parse);
}

async function findPaths(stores: ModelStores, { manifest }: StoredModel, kind: LayerKind): Promise<string[]> {
  const found = await Promise.all(layersOf(manifest, kind).map((layer) => requireBlob(stores, layer)));
  return found.map(({ path }) => path);
}
