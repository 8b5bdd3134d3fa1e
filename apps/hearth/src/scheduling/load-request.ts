import type { Engine, LoadPlan } from "@hearth-and-keep/engine";
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

/** What a request needs from the scheduler: a model, loaded for a purpose. */
export type LoadRequest = Pick<
  LoadPlan,
  "modelPath" | "remote" | "adapters" | "projectorPath" | "goTemplate" | "purpose"
> & {
  /** Identifies the model: the digest of its manifest, which covers its adapters. */
  readonly key: string;
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
  /** Replaces the model's keep-alive, for later requests too; absent leaves it unchanged. */
  readonly keepAlive?: KeepAlive;
  /** No client waits for it: it starts only when no other request waits for a slot or for memory. */
  readonly isBackground?: boolean;
};

export type RequestShape = { readonly window: ContextWindow; readonly cacheType: LoadPlan["cacheType"] };

/** A request as it is queued: with its window, and the context that must be loaded for it. */
export type QueuedLoadRequest = LoadRequest & RequestShape & { readonly minContextTokens: number };

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
};

/** The part of a client's request that decides how its model is loaded. */
export type LoadInput = {
  readonly model: ModelDescription;
  readonly contextTokens?: number;
  readonly keepAlive?: KeepAlive;
};

/** For a file without a trained context length in its metadata. */
const defaultTrainedContextTokens = 4096;
/** Larger than the context of any engine; remote engines report their own. */
const maxContextTokens = 16_777_216;

/** Describes how to load the model of a request. The request's context size overrides the model's own. */
export function createLoadRequest(
  { model, contextTokens, keepAlive }: LoadInput,
  purpose: LoadPlan["purpose"],
): LoadRequest {
  const { header, parameters, adapterPaths, projectorPaths } = model;
  if (model.remote !== undefined) return createRemoteLoadRequest(model, model.remote, purpose);
  rejectPrivateDialect(header);
  const requestedTokens = contextTokens ?? parameters.values.contextTokens;
  const [projectorPath] = projectorPaths;
  return {
    key: model.digest,
    modelPath: model.modelPath,
    purpose,
    trainedContextTokens: model.trainedContextTokens ?? defaultTrainedContextTokens,
    size: toModelSize(model, purpose),
    ...(adapterPaths.length === 0 ? {} : { adapters: adapterPaths.map((path) => ({ path, scale: 1 })) }),
    ...(projectorPath === undefined ? {} : { projectorPath }),
    ...(model.template === null ? {} : { goTemplate: model.template }),
    ...limitOf(requestedTokens),
    ...(contextTokens === undefined ? {} : { isContextDemanded: true }),
    ...(keepAlive === undefined ? {} : { keepAlive }),
  };
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
