import { FailureError } from "@hearth-and-keep/failures";
import type { ModelFile } from "@hearth-and-keep/gguf";
import type { Catalog } from "../catalog.ts";
import type { ModelDescription, ModelSummary } from "../metadata/describe-model.ts";
import type { HeaderFacts } from "../metadata/header-facts.ts";
import { noParameters } from "../metadata/model-parameters.ts";
import { modelFailure, type RemoteRefusal } from "../model-failure.ts";
import { displayModelName, tryParseModelName } from "../model-name.ts";
import type { TransferProgress, Transfers } from "../transfers/transfer.ts";
import type { RemoteModel } from "./engines-file.ts";

/** What the engines of a model reported, once one of them responded. */
export type GetEngineInfo = (name: string) => { readonly contextTokens: number | undefined } | undefined;

/** Adds the models on remote engines to those of this machine; a remote model shadows a local one of the same name. */
export function withRemoteModels(
  local: Catalog,
  remote: readonly RemoteModel[],
  getEngineInfo: GetEngineInfo,
): Catalog {
  if (remote.length === 0) return local;
  const { find, findByName } = createFinders(remote);
  return {
    ...local,
    async list() {
      const listing = await local.list();
      const localModels = listing.models.filter(({ name }) => find(name) === undefined);
      return {
        ...listing,
        models: [...remote.map((model) => summarize(model, getEngineInfo)), ...localModels],
      };
    },
    async describe(name) {
      const model = find(name);
      return model === undefined ? local.describe(name) : describe(model, getEngineInfo);
    },
    async inspect(name) {
      const model = find(name);
      return model === undefined ? local.inspect(name) : emptyFile(describe(model, getEngineInfo));
    },
    inspectProjector: async (name) => (find(name) === undefined ? local.inspectProjector(name) : undefined),
    async copy(source, destination) {
      rejectRemote(source, find);
      rejectRemote(destination, findByName);
      await local.copy(source, destination);
    },
    async remove(name) {
      rejectRemote(name, find);
      return local.remove(name);
    },
    async *create(request) {
      rejectRemote(request.name, findByName);
      if (request.source.kind === "model") rejectRemote(request.source.name, find);
      yield* local.create(request);
    },
  };
}

/**
 * Refuses the models whose engines are not in the operator's own network: they are not listed, and a request for one is
 * rejected before anything of it leaves this machine.
 */
export function refuseRemoteModels(models: Catalog): Catalog {
  return {
    ...models,
    async describe(name) {
      const model = await models.describe(name);
      if (model.remote?.location !== "remote") return model;
      throw new FailureError<RemoteRefusal>({ kind: "remote-models-disabled", model: name });
    },
    async list() {
      const listing = await models.list();
      return {
        ...listing,
        models: listing.models.filter(({ remote }) => remote?.location !== "remote"),
      };
    },
  };
}

/** Remote models cannot be pushed, and their names cannot be pulled. */
export function guardRemoteModels(transfers: Transfers, remote: readonly RemoteModel[]): Transfers {
  if (remote.length === 0) return transfers;
  const { find, findByName } = createFinders(remote);
  return {
    async *pull(request): AsyncGenerator<TransferProgress> {
      rejectRemote(request.name, findByName);
      yield* transfers.pull(request);
    },
    async *push(request): AsyncGenerator<TransferProgress> {
      rejectRemote(request.name, find);
      yield* transfers.push(request);
    },
  };
}

/** Names of local models that a remote model shadows. */
export async function shadowedNames(
  local: Catalog,
  remote: readonly RemoteModel[],
): Promise<readonly string[]> {
  if (remote.length === 0) return [];
  const { findByName } = createFinders(remote);
  const { models } = await local.list();
  return models.map(({ name }) => name).filter((name) => findByName(name) !== undefined);
}

type Find = (name: string) => RemoteModel | undefined;

type Finders = {
  readonly find: Find;
  /** Ignores a digest in the text: for requests that would assign the name. */
  readonly findByName: Find;
};

function createFinders(remote: readonly RemoteModel[]): Finders {
  const byName = new Map(remote.map((model) => [model.name.toLowerCase(), model]));
  const findByName: Find = (text) => {
    const name = tryParseModelName(text);
    return name === undefined ? undefined : byName.get(displayModelName(name).toLowerCase());
  };
  return {
    findByName,
    find(text) {
      const model = findByName(text);
      const digest = tryParseModelName(text)?.digest ?? null;
      // A request for another digest means another model.
      return digest === null || digest === model?.digest ? model : undefined;
    },
  };
}

function rejectRemote(name: string, find: Find): void {
  if (find(name) !== undefined) throw modelFailure({ kind: "model-on-remote-engine", model: name });
}

function summarize(
  { name, digest, modifiedAt, capabilities, plan, sequences, location }: RemoteModel,
  getEngineInfo: GetEngineInfo,
): ModelSummary {
  return {
    name,
    digest,
    bytes: 0,
    modifiedAt,
    details: {
      parentModel: "",
      format: "remote",
      family: plan.dialect,
      families: [plan.dialect],
      parameterSize: "",
      quantization: "",
    },
    trainedContextTokens: plan.contextTokens ?? getEngineInfo(name)?.contextTokens ?? null,
    embeddingLength: null,
    capabilities,
    isReadOnly: true,
    header: null,
    ownContextTokens: undefined,
    remote: { name, sequences, location },
  };
}

function describe(model: RemoteModel, getEngineInfo: GetEngineInfo): ModelDescription {
  const summary = summarize(model, getEngineInfo);
  return {
    ...summary,
    template: null,
    chatTemplate: null,
    system: null,
    parameters: noParameters,
    messages: [],
    licenses: [],
    modelPath: "",
    projectorPaths: [],
    adapterPaths: [],
    header: { ...emptyHeader, trainedContextTokens: summary.trainedContextTokens },
  };
}

const noFile = {
  architecture: "remote",
  fileType: "",
  parameterCount: 0,
  chatTemplate: null,
  privateDialect: null,
} as const;
const noCapabilities: HeaderFacts["capabilities"] = {
  vision: false,
  audio: false,
  tools: false,
  thinking: false,
  fillInTheMiddle: false,
  rank: false,
  embedding: false,
};
const emptyHeader: HeaderFacts = {
  ...noFile,
  trainedContextTokens: null,
  embeddingLength: null,
  capabilities: noCapabilities,
  isPooled: false,
  attention: { layers: 0, keyValueHeads: [], keyLength: 0, valueLength: 0 },
  vocabularySize: 0,
  weightBytes: 0,
};

/** Stands in for the header, because there is no model file. */
function emptyFile({ name, trainedContextTokens }: ModelDescription): ModelFile {
  return {
    ...noFile,
    path: "",
    fileBytes: 0,
    formatVersion: 0,
    name,
    trainedContextTokens,
    capabilities: noCapabilities,
    metadata: new Map(),
    tensors: [],
    tensorSummary: { count: 0, bytes: 0, byType: new Map() },
    split: null,
  };
}
