import { createWhole } from "./creating/create-model.ts";
import type { ModelExtras } from "./model-extras.ts";
import type { ModelStores } from "./store/model-store.ts";

export type NewModel = {
  readonly name: string;
  /** A GGUF file, or the first part of a split one. */
  readonly file: string;
  readonly extras?: ModelExtras;
};

/** Puts a copy of a GGUF file into our own store under a name. Only a checked file is copied. */
export async function createFromFile(stores: ModelStores, { file, ...order }: NewModel): Promise<void> {
  await createWhole(stores, { ...order, origin: { kind: "files", paths: [file] } });
}
