import type { Engine, LoadPlan, Timings, Usage } from "@hearth-and-keep/engine";
import type { ModelDescription, ModelSummary, RemoteExecution } from "../models/metadata/describe-model.ts";
import { rejectPrivateDialect } from "../models/metadata/private-dialect.ts";
import {
  type ContextWindow,
  growContext,
  initialContextTokens,
  type WindowRequest,
} from "./context-window.ts";
import type { KeepAlive } from "./keep-alive.ts";
import type { ModelSize } from "./memory-budget.ts";
import type { RequestOwner } from "./request-queue.ts";

/** What a request needs from the scheduler: a model, loaded for a purpose. */
export type LoadRequest = Pick<
  LoadPlan,
  "modelPath" | "remote" | "adapters" | "projectorPath" | "goTemplate" | "purpose"
> & {
  /** Identifies the model: the digest of its manifest. */
  readonly key: string;
  /** The same for models that can use one load: those with the same files and template. Absent means `key`. */
  readonly loadKey?: string;
  /** Set if the model has a fixed concurrency, as on remote engines. */
  readonly sequences?: number;
  /** The most context that the request wants to use; absent means as much as possible. */
  readonly contextTokens?: number;
  /** The client set `contextTokens` itself, so too little memory is an error rather than a smaller context. */
  readonly isContextDemanded?: boolean;
  /** What it needs now, known once its prompt did not fit into a smaller context. */
  readonly neededTokens?: number;
  readonly trainedContextTokens: number;
  readonly size: ModelSize;
  /** What the request or the model sets; the server's settings apply to the rest. */
  readonly settings?: RequestLoadSettings;
  /** Replaces the model's keep-alive, for later requests too; absent leaves it unchanged. */
  readonly keepAlive?: KeepAlive;
  /** Called with whole percents while the request waits for a load. */
  readonly onLoadProgress?: (percent: number) => void;
  /** No client waits for it: it starts only when no other request waits for a slot or for memory. */
  readonly isBackground?: boolean;
  /** Who takes turns with others; absent for the server itself. */
  readonly owner?: RequestOwner;
  /** Called if the request has to wait for its turn, and when its position has fallen after it has waited for a while. */
  readonly onQueued?: (queuePosition: QueuePosition) => void;
};

/** A request that waits for its turn. */
export type QueuePosition = {
  /** 1 is next. 0 needs no turn: it waits for its model to be loaded. */
  readonly position: number;
  /** How long it may still wait; undefined until a request of this model has ended. */
  readonly seconds: number | undefined;
  readonly waitedMilliseconds: number;
  /** Whether the request has just arrived. */
  readonly isArrival?: boolean;
};

export type RequestShape = { readonly window: ContextWindow; readonly cacheType: LoadPlan["cacheType"] };

/** A request as it is queued: with its window, and the context that must be loaded for it. */
export type QueuedLoadRequest = LoadRequest &
  RequestShape & {
    readonly minContextTokens: number;
    /** Set if it embeds on a model that was loaded to generate: the memory of the context beside. */
    readonly besideBytes?: number;
  };

/** A slot on a loaded model. The request disposes of it when it ends, successfully or not. */
export type Lease = Disposable & {
  readonly engine: Engine;
  /** The context that is loaded. */
  readonly contextTokens: number;
  /** What the request may use: if more is loaded, only this much; if less, it can ask for a larger context. */
  readonly window: ContextWindow;
  /** How long this request waited for the model to load; 0 if it was loaded already. */
  readonly loadMilliseconds: number;
  /** How long it waited in the queue otherwise. */
  readonly queueMilliseconds: number;
  /** How many requests were ahead in the queue on arrival. */
  readonly position: number;
  /** Whether other requests wait for a slot on this model. */
  readonly isWanted: () => boolean;
  /** Counts tokens that were evaluated or generated, so that owners can take turns by them. */
  readonly addTokens: (promptTokens: number, outputTokens: number) => void;
  /** Measures what tokens cost, from a generation that has ended. */
  readonly measure: (usage: Usage, timings: Timings) => void;
};

/** The part of a client's request that decides how its model is loaded. */
export type LoadInput = {
  readonly model: ModelDescription;
  readonly contextTokens?: number;
  readonly loadSettings?: RequestLoadSettings;
  readonly keepAlive?: KeepAlive;
};

/** How a model is loaded, as far as models and requests can set it. A load serves only requests with the same. */
export type RequestLoadSettings = Pick<
  LoadPlan,
  "gpuLayers" | "batchTokens" | "cacheType" | "flashAttention"
>;

/** Batches are powers of two, so that clients cannot cause many different loads. */
const batchTokens = { min: 32, max: 2048 };

export function pickLoadSettings(values: RequestLoadSettings): RequestLoadSettings {
  const { gpuLayers = -1, batchTokens: batch, cacheType, flashAttention } = values;
  const clamped = Math.min(batchTokens.max, Math.max(batchTokens.min, batch ?? 0));
  return {
    // -1: the engine decides.
    ...(gpuLayers === -1 ? {} : { gpuLayers }),
    ...(batch === undefined ? {} : { batchTokens: 2 ** Math.floor(Math.log2(clamped)) }),
    ...(cacheType === undefined ? {} : { cacheType }),
    ...(flashAttention === undefined ? {} : { flashAttention }),
  };
}

/** For a file without a trained context length in its metadata. */
const defaultTrainedContextTokens = 4096;
/** Larger than the context of any engine; remote engines report their own. */
const maxContextTokens = 16_777_216;

/** Describes how to load the model of a request. The request's context size overrides the model's own. */
export function createLoadRequest(
  { model, contextTokens, loadSettings, keepAlive }: LoadInput,
  purpose: LoadPlan["purpose"],
): LoadRequest {
  const { header, parameters, adapterPaths, projectorPaths } = model;
  if (model.remote !== undefined) return createRemoteLoadRequest(model, model.remote, purpose);
  rejectPrivateDialect(header);
  const requestedTokens = contextTokens ?? parameters.values.contextTokens;
  const [projectorPath] = projectorPaths;
  return {
    key: model.digest,
    loadKey: loadKeyOf(model),
    modelPath: model.modelPath,
    purpose,
    trainedContextTokens: model.trainedContextTokens ?? defaultTrainedContextTokens,
    size: toModelSize(model, purpose),
    ...(adapterPaths.length === 0 ? {} : { adapters: adapterPaths.map((path) => ({ path, scale: 1 })) }),
    ...(projectorPath === undefined ? {} : { projectorPath }),
    ...(model.template === null ? {} : { goTemplate: model.template }),
    ...limitOf(requestedTokens),
    settings: { ...pickLoadSettings(parameters.values), ...loadSettings },
    ...(contextTokens === undefined ? {} : { isContextDemanded: true }),
    ...(keepAlive === undefined ? {} : { keepAlive }),
  };
}

/**
 * The paths of blobs contain their digests. System texts, messages and parameters belong to requests; the template
 * belongs to the load, because the model's process renders it, and whether the model has tools depends on it.
 */
function loadKeyOf({ modelPath, adapterPaths, projectorPaths, template }: ModelDescription): string {
  return JSON.stringify([modelPath, adapterPaths, projectorPaths, template]);
}

/** A remote model uses no local memory and has its engines' context, so it stays loaded whatever the request says. */
function createRemoteLoadRequest(
  { digest }: ModelDescription,
  { name, sequences }: RemoteExecution,
  purpose: LoadPlan["purpose"],
): LoadRequest {
  return {
    key: digest,
    modelPath: "",
    remote: name,
    sequences,
    purpose,
    trainedContextTokens: maxContextTokens,
    contextTokens: maxContextTokens,
    size: { fileBytes: 0, layers: 0, keyValueHeads: 0, headSize: 0 },
    keepAlive: "forever",
  };
}

/**
 * The context of requests that set none, as every API reports it: what the server really accepts, not what the model
 * was trained on. Null if it is unknown.
 */
export function effectiveContextTokens(
  model: ModelSummary,
  { contextWindow }: { readonly contextWindow: (request: WindowRequest) => ContextWindow },
): number | null {
  const { header, trainedContextTokens, ownContextTokens } = model;
  if (header === null || model.remote !== undefined) return trainedContextTokens;
  const purpose = header.isPooled ? "embed" : "generate";
  return contextWindow({
    purpose,
    trainedContextTokens: trainedContextTokens ?? defaultTrainedContextTokens,
    size: toModelSize({ ...model, header }, purpose),
    ...limitOf(ownContextTokens),
  }).tokens;
}

/** Zero means the server's default. */
function limitOf(contextTokens: number | undefined): Pick<LoadRequest, "contextTokens"> {
  return contextTokens === undefined || contextTokens === 0 ? {} : { contextTokens };
}

/** Layers may have different numbers of heads, so the heads of all layers are counted as those of one layer. */
function toModelSize(
  { header, bytes }: Pick<ModelDescription, "header" | "bytes">,
  purpose: LoadPlan["purpose"],
): ModelSize {
  const { attention, vocabularySize, isPooled } = header;
  return {
    fileBytes: bytes,
    layers: 1,
    keyValueHeads: attention.keyValueHeads.reduce((sum, each) => sum + each, 0),
    headSize: (attention.keyLength + attention.valueLength) / 2,
    process: { vocabularySize, scoreBuffers: countScoreBuffers(isPooled, purpose) },
  };
}

function countScoreBuffers(isPooled: boolean, purpose: LoadPlan["purpose"]): 0 | 1 | 3 {
  if (isPooled) return 0;
  return purpose === "embed" ? 3 : 1;
}

/** Only generation can ask for more later; everything else gets its whole window. */
export function withWindow(request: LoadRequest, { window, cacheType }: RequestShape): QueuedLoadRequest {
  const { purpose, neededTokens = 0 } = request;
  const neededFirst = purpose === "generate" ? initialContextTokens : window.tokens;
  const minContextTokens = Math.min(window.tokens, Math.max(neededFirst, neededTokens));
  return { ...request, window, cacheType, minContextTokens };
}

/**
 * The context sizes to try for a queue of requests, best first: enough for all of them with room to grow, just enough
 * for all, and enough for the first.
 */
export function candidateContexts(requests: readonly QueuedLoadRequest[]): readonly number[] {
  const [first] = requests;
  if (first === undefined) return [];
  const forAll = Math.max(...requests.map(({ minContextTokens }) => minContextTokens));
  const grown = Math.max(...requests.map((each) => growContext(each.minContextTokens, each.window)));
  return [
    ...new Set([grown, forAll, growContext(first.minContextTokens, first.window), first.minContextTokens]),
  ];
}

/**
 * A model is loaded separately for each purpose, because its context differs, unless it embeds beside generating; and for
 * each of its settings.
 */
export function modelKey({
  key,
  loadKey = key,
  purpose,
  besideBytes,
  settings = {},
}: LoadRequest & { besideBytes?: number }): string {
  const { gpuLayers = "", batchTokens: batch = "", cacheType = "", flashAttention = "" } = settings;
  const usedPurpose = besideBytes === undefined ? purpose : "generate";
  return `${usedPurpose} ${loadKey} ${gpuLayers}/${batch}/${cacheType}/${flashAttention}`;
}
