import type { ModelFile } from "@hearth-and-keep/gguf";
import type { Catalog } from "../catalog.ts";
import type { ModelDescription, ModelSummary } from "../metadata/describe-model.ts";
import type { HeaderFacts } from "../metadata/header-facts.ts";
import { noParameters } from "../metadata/model-parameters.ts";
import { modelFailure } from "../model-failure.ts";
import { displayModelName, readModelName } from "../model-name.ts";
import type { TransferProgress, Transfers } from "../transfers/transfer.ts";
import type { RemoteModel } from "./engines-file.ts";

/** What engines told of a model, once one of them answered. */
export type Learn = (name: string) => { readonly contextTokens: number | undefined } | undefined;

/** The models of this machine with those that run elsewhere beside them; of one name, the one elsewhere wins. */
export function withRemoteModels(local: Catalog, remote: readonly RemoteModel[], learn: Learn): Catalog {
  if (remote.length === 0) return local;
  const { find, findPlace } = finderOf(remote);
  return {
    ...local,
    async list() {
      const listing = await local.list();
      const here = listing.models.filter(({ name }) => find(name) === undefined);
      return { ...listing, models: [...remote.map((model) => summarize(model, learn)), ...here] };
    },
    async describe(name) {
      const model = find(name);
      return model === undefined ? local.describe(name) : describe(model, learn);
    },
    async inspect(name) {
      const model = find(name);
      return model === undefined ? local.inspect(name) : emptyFile(describe(model, learn));
    },
    inspectProjector: async (name) => (find(name) === undefined ? local.inspectProjector(name) : undefined),
    async copy(source, destination) {
      refuse(source, find);
      refuse(destination, findPlace);
      await local.copy(source, destination);
    },
    async remove(name) {
      refuse(name, find);
      return local.remove(name);
    },
    async *create(order) {
      refuse(order.name, findPlace);
      if (order.origin.kind === "model") refuse(order.origin.name, find);
      yield* local.create(order);
    },
  };
}

/** What runs elsewhere is not here to be pushed, and nothing can be pulled into its place. */
export function withoutRemoteModels(transfers: Transfers, remote: readonly RemoteModel[]): Transfers {
  if (remote.length === 0) return transfers;
  const { find, findPlace } = finderOf(remote);
  return {
    async *pull(wish): AsyncGenerator<TransferProgress> {
      refuse(wish.name, findPlace);
      yield* transfers.pull(wish);
    },
    async *push(wish): AsyncGenerator<TransferProgress> {
      refuse(wish.name, find);
      yield* transfers.push(wish);
    },
  };
}

/** Names that stand for a model here and for one elsewhere. */
export async function coveredNames(
  local: Catalog,
  remote: readonly RemoteModel[],
): Promise<readonly string[]> {
  if (remote.length === 0) return [];
  const { findPlace } = finderOf(remote);
  const { models } = await local.list();
  return models.map(({ name }) => name).filter((name) => findPlace(name) !== undefined);
}

type Find = (name: string) => RemoteModel | undefined;

type Finders = {
  readonly find: Find;
  /** Of a name that is to be given to something: whatever digest stands behind it, the name would be taken. */
  readonly findPlace: Find;
};

function finderOf(remote: readonly RemoteModel[]): Finders {
  const byName = new Map(remote.map((model) => [model.name.toLowerCase(), model]));
  const findPlace: Find = (text) => {
    const name = readModelName(text);
    return name === undefined ? undefined : byName.get(displayModelName(name).toLowerCase());
  };
  return {
    findPlace,
    find(text) {
      const model = findPlace(text);
      const digest = readModelName(text)?.digest ?? null;
      // Who asks for other bytes by their digest does not mean this one.
      return digest === null || digest === model?.digest ? model : undefined;
    },
  };
}

function refuse(name: string, find: Find): void {
  if (find(name) !== undefined) throw modelFailure({ kind: "model-elsewhere", model: name });
}

function summarize(
  { name, digest, modifiedAt, capabilities, plan }: RemoteModel,
  learn: Learn,
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
    trainedContextTokens: plan.contextTokens ?? learn(name)?.contextTokens ?? null,
    embeddingLength: null,
    capabilities,
    isReadOnly: true,
  };
}

function describe(model: RemoteModel, learn: Learn): ModelDescription {
  const { name, sequences } = model;
  const summary = summarize(model, learn);
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
    remote: { name, sequences },
  };
}

const nothing = {
  architecture: "remote",
  fileType: "",
  parameterCount: 0,
  chatTemplate: null,
  privateDialect: null,
} as const;
const noHints: HeaderFacts["hints"] = {
  vision: false,
  audio: false,
  tools: false,
  thinking: false,
  fillInTheMiddle: false,
  rank: false,
  embedding: false,
};
const emptyHeader: HeaderFacts = {
  ...nothing,
  trainedContextTokens: null,
  embeddingLength: null,
  hints: noHints,
  isPooled: false,
  attention: { layers: 0, keyValueHeads: [], keyLength: 0, valueLength: 0 },
  weightBytes: 0,
};

/** There is no file to look into. */
function emptyFile({ name, trainedContextTokens }: ModelDescription): ModelFile {
  return {
    ...nothing,
    path: "",
    fileBytes: 0,
    formatVersion: 0,
    name,
    trainedContextTokens,
    capabilities: noHints,
    metadata: new Map(),
    tensors: [],
    tensorSummary: { count: 0, bytes: 0, byType: new Map() },
    split: null,
  };
}
