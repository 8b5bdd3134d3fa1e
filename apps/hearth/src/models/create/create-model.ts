/**
 * @module
 * Creates models from files, from uploaded blobs, or from another model with some layers replaced. Guarantees that
 * only validated files get a name, that layers are shared instead of copied where possible, and that a model appears
 * completely or not at all. Imported by `catalog.ts` and by commands that create models without a server.
 */
import { createExtraLayers, type ModelExtras } from "../model-extras.ts";
import { modelFailure } from "../model-failure.ts";
import { parseModelName } from "../model-name.ts";
import { type SaveStep, saveModel } from "../save-model.ts";
import { type ModelStores, writableStore } from "../store/model-store.ts";
import { loadBaseModel, type ModelBase } from "./base-model.ts";
import { type FileSource, importAdapters, importFiles, locateFiles } from "./import-files.ts";

export type CreateModelRequest = {
  readonly name: string;
  readonly source: { readonly kind: "model"; readonly name: string } | FileSource;
  readonly adapters?: FileSource;
  readonly extras?: ModelExtras;
  /** E.g. "Q4_K_M". Weights are not converted, so it must be the quantization that they have. */
  readonly quantization?: string;
};

export type CreateStep = { readonly step: "reading-file" } | SaveStep;

export async function* createModel(
  stores: ModelStores,
  request: CreateModelRequest,
): AsyncGenerator<CreateStep> {
  const name = parseModelName(request.name);
  writableStore(stores);
  await using stack = new AsyncDisposableStack();
  const context = { stores, stack };
  const { source, extras = {} } = request;
  const files = source.kind === "model" ? [] : await locateFiles(source, stores);
  const adapterFiles = request.adapters === undefined ? [] : await locateFiles(request.adapters, stores);
  if (files.length > 0 || adapterFiles.length > 0) yield { step: "reading-file" };
  const base =
    source.kind === "model" ? await loadBaseModel(stores, source.name) : await importFiles(files, context);
  rejectConversion(request.quantization, base);
  const adapters = await importAdapters(adapterFiles, context);
  const parameters = { ...base.parameters, ...extras.parameters };
  const extraLayers = createExtraLayers({ ...extras, parameters });
  yield* saveModel(stores, {
    name,
    config: base.config,
    layers: [...base.layersExcept(new Set(extraLayers.map(({ kind }) => kind))), ...adapters],
    extras: extraLayers,
  });
}

/** For callers that do not need the steps. */
export async function createModelAndWait(stores: ModelStores, request: CreateModelRequest): Promise<void> {
  const steps = createModel(stores, request);
  while ((await steps.next()).done !== true);
}

function rejectConversion(wanted: string | undefined, { quantization }: ModelBase): void {
  if (wanted === undefined || wanted.toUpperCase() === quantization.toUpperCase()) return;
  const reason = `the weights are ${quantization}, and this server does not convert them; use a file that is already ${wanted}`;
  throw modelFailure({ kind: "parameter-invalid", parameter: "quantize", reason });
}
