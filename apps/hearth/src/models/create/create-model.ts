/**
 * @module
 * New models: of files, of uploaded blobs, or of another model with some of its layers replaced. Promises that only
 * files which passed the gate are named, that layers are shared and not copied where they can be, and that a model
 * appears whole or not at all. Imported by `catalog.ts` and by what makes models without a server.
 */
import { type KeepingStep, keepModel } from "../keep-model.ts";
import { layOutExtras, type ModelExtras } from "../model-extras.ts";
import { modelFailure } from "../model-failure.ts";
import { parseModelName } from "../model-name.ts";
import { type ModelStores, writableStore } from "../store/model-store.ts";
import { type FileSource, gatherAdapters, gatherFiles, locateFiles } from "./gather-files.ts";
import { type Origin, takeModel } from "./take-model.ts";

export type ModelOrder = {
  readonly name: string;
  readonly origin: { readonly kind: "model"; readonly name: string } | FileSource;
  readonly adapters?: FileSource;
  readonly extras?: ModelExtras;
  /** How its weights should be stored, as in "Q4_K_M"; nothing is converted here, so only what they are is taken. */
  readonly quantization?: string;
};

export type CreatingStep = { readonly step: "reading-file" } | KeepingStep;

export async function* createModel(stores: ModelStores, order: ModelOrder): AsyncGenerator<CreatingStep> {
  const name = parseModelName(order.name);
  writableStore(stores);
  await using stack = new AsyncDisposableStack();
  const parts = { stores, stack };
  const { origin, extras = {} } = order;
  const files = origin.kind === "model" ? [] : await locateFiles(origin, stores);
  const adapterFiles = order.adapters === undefined ? [] : await locateFiles(order.adapters, stores);
  if (files.length > 0 || adapterFiles.length > 0) yield { step: "reading-file" };
  const base =
    origin.kind === "model" ? await takeModel(stores, origin.name) : await gatherFiles(files, parts);
  refuseConversion(order.quantization, base);
  const adapters = await gatherAdapters(adapterFiles, parts);
  const parameters = { ...base.parameters, ...extras.parameters };
  const small = layOutExtras({ ...extras, parameters });
  yield* keepModel(stores, {
    name,
    config: base.config,
    layers: [...base.layersBeside(new Set(small.map(({ kind }) => kind))), ...adapters],
    extras: small,
  });
}

/** For those who only wait for the end. */
export async function createWhole(stores: ModelStores, order: ModelOrder): Promise<void> {
  const steps = createModel(stores, order);
  while ((await steps.next()).done !== true);
}

function refuseConversion(wanted: string | undefined, { quantization }: Origin): void {
  if (wanted === undefined || wanted.toUpperCase() === quantization.toUpperCase()) return;
  const reason = `the weights are ${quantization}, and this server does not convert them; take a file that is stored so`;
  throw modelFailure({ kind: "parameter-invalid", parameter: "quantize", reason });
}
