import type { LoadPlan } from "@hearth-and-keep/engine";
import type { ModelDescription, RemoteRun } from "../models/metadata/describe-model.ts";
import { refusePrivateDialect } from "../models/metadata/private-dialect.ts";
import type { KeepAlive } from "../scheduling/keep-alive.ts";
import type { ModelWish } from "../scheduling/load-request.ts";

export type WishParts = {
  readonly model: ModelDescription;
  readonly contextTokens?: number;
  readonly keepAlive?: KeepAlive;
};

/** For a file that does not say what it was trained on. */
const unknownContextTokens = 4096;
/** More than any engine has; how much one really has, it tells itself. */
const mostContextTokens = 16_777_216;

/** What a request wants of the scheduler. Its own context counts before the model's. */
export function wishFor(
  { model, contextTokens, keepAlive }: WishParts,
  purpose: LoadPlan["purpose"],
): ModelWish {
  const { header, parameters, adapterPaths, projectorPaths } = model;
  if (model.remote !== undefined) return remoteWish(model, model.remote, purpose);
  refusePrivateDialect(header);
  const wanted = contextTokens ?? parameters.values.contextTokens;
  const [projectorPath] = projectorPaths;
  return {
    key: model.digest,
    modelPath: model.modelPath,
    purpose,
    trainedContextTokens: model.trainedContextTokens ?? unknownContextTokens,
    size: sizeOf(header.attention, model.bytes),
    ...(adapterPaths.length === 0 ? {} : { adapters: adapterPaths.map((path) => ({ path, scale: 1 })) }),
    ...(projectorPath === undefined ? {} : { projectorPath }),
    ...(model.template === null ? {} : { goTemplate: model.template }),
    // Zero leaves it to the server.
    ...(wanted === undefined || wanted === 0 ? {} : { contextTokens: wanted }),
    ...(keepAlive === undefined ? {} : { keepAlive }),
  };
}

/** It takes no memory and has the context its engines have, whatever a request says, so it stays for ever. */
function remoteWish(
  { digest }: ModelDescription,
  { name, sequences }: RemoteRun,
  purpose: LoadPlan["purpose"],
): ModelWish {
  return {
    key: digest,
    modelPath: "",
    remote: name,
    sequences,
    purpose,
    trainedContextTokens: mostContextTokens,
    contextTokens: mostContextTokens,
    size: { fileBytes: 0, layers: 0, keyValueHeads: 0, headSize: 0 },
    keepAlive: "forever",
  };
}

/** Layers may differ, so the heads of all of them are counted as one layer's. */
function sizeOf(
  { keyValueHeads, keyLength, valueLength }: ModelDescription["header"]["attention"],
  fileBytes: number,
): ModelWish["size"] {
  const heads = keyValueHeads.reduce((sum, each) => sum + each, 0);
  return { fileBytes, layers: 1, keyValueHeads: heads, headSize: (keyLength + valueLength) / 2 };
}
