import { createWhole } from "./creating/create-model.ts";
import type { ModelExtras } from "./model-extras.ts";
import type { ModelStores } from "./store/model-store.ts";

export type NewModelOfBlobs = {
  readonly name: string;
  /** Digests of blobs by the names of their files: one GGUF file, or every part of a split one. */
  readonly files: ReadonlyMap<string, string>;
  readonly extras?: ModelExtras;
};

/** Makes a model of blobs that were stored before, as an upload leaves them. They pass the gate here. */
export async function createFromBlobs(
  stores: ModelStores,
  { files, ...order }: NewModelOfBlobs,
): Promise<void> {
  await createWhole(stores, { ...order, origin: { kind: "blobs", files } });
}
