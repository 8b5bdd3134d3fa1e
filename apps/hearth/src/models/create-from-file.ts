import { createWhole } from "./create/create-model.ts";
import type { ModelExtras } from "./model-extras.ts";
import type { ModelStores } from "./store/model-store.ts";

export type NewModel = {
  readonly name: string;
  /** A GGUF file, or the first part of a split one. */
  readonly file: string;
  /** Makes images out for the model. */
  readonly projector?: string;
  readonly extras?: ModelExtras;
};

/** Puts a copy of a GGUF file into our own store under a name. Only a checked file is copied. */
export async function createFromFile(
  stores: ModelStores,
  { file, projector, ...order }: NewModel,
): Promise<void> {
  await createWhole(stores, {
    ...order,
    origin: { kind: "files", paths: [file, ...(projector === undefined ? [] : [projector])] },
  });
}
