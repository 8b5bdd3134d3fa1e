import type { Engine, LoadPlan } from "@hearth-and-keep/engine";
import type { ModelDescription, RemoteExecution } from "../models/metadata/describe-model.ts";
import { rejectPrivateDialect } from "../models/metadata/private-dialect.ts";
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
  /** The context the client requested; absent accepts whatever is loaded. */
  readonly contextTokens?: number;
  readonly trainedContextTokens: number;
  readonly size: ModelSize;
  /** Replaces the model's keep-alive, for later requests too; absent leaves it unchanged. */
  readonly keepAlive?: KeepAlive;
};

/** A slot on a loaded model. The request disposes of it when it ends, successfully or not. */
export type Lease = Disposable & {
  readonly engine: Engine;
  readonly contextTokens: number;
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
    // Zero means the server's default.
    ...(requestedTokens === undefined || requestedTokens === 0 ? {} : { contextTokens: requestedTokens }),
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

/** Layers may have different numbers of heads, so the heads of all layers are counted as those of one layer. */
function toModelSize({ header, bytes }: ModelDescription, purpose: LoadPlan["purpose"]): ModelSize {
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

/** The smallest context that serves a request: what it asks for, but at most what the model was trained on. */
export function minContextTokens({ contextTokens = 0, trainedContextTokens }: LoadRequest): number {
  return Math.min(contextTokens, trainedContextTokens);
}

/**
 * The context sizes to try for a queue of requests, best first: enough for all of them, enough for the first, and less
 * than the default only if the first request asks for less.
 */
export function candidateContexts(
  requests: readonly LoadRequest[],
  defaultTokens: number,
): readonly number[] {
  const [first] = requests;
  if (first === undefined) return [];
  const defaultContext = Math.min(defaultTokens, first.trainedContextTokens);
  const forAll = Math.max(defaultContext, ...requests.map(minContextTokens));
  const forFirst = Math.max(defaultContext, minContextTokens(first));
  const requested = first.contextTokens === undefined ? forFirst : minContextTokens(first);
  return [...new Set([forAll, forFirst, requested])];
}
