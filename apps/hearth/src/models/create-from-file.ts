import { createModelAndWait } from "./create/create-model.ts";
import type { ModelExtras } from "./model-extras.ts";
import type { ModelStores } from "./store/model-store.ts";

export type NewModel = {
  readonly name: string;
  /** A GGUF file, or the first shard of a split one. */
  readonly file: string;
  /** A vision projector for the model. */
  readonly projector?: string;
  readonly extras?: ModelExtras;
};

/** Validates a GGUF file and copies it into our own store under a name. */
export async function createFromFile(
  stores: ModelStores,
  { file, projector, ...request }: NewModel,
): Promise<void> {
  await createModelAndWait(stores, {
    ...request,
    source: { kind: "files", paths: [file, ...(projector === undefined ? [] : [projector])] },
  });
}
