import { readFile, writeFile } from "node:fs/promises";
import { basename, join } from "node:path";
import { writeModel } from "@hearth-and-keep/gguf/testing";
import { createCatalog } from "../catalog.ts";
import { createModelAndWait } from "../create/create-model.ts";
import { createFromFile } from "../create-from-file.ts";
import { addBlob } from "../store/blob-store.ts";
import { digestOf } from "../store/digest.ts";
import type { ModelStores } from "../store/model-store.ts";
import { createPuller } from "./puller.ts";
import { saveShards } from "./split-model.ts";

/** Input files of the changes, and a registry that has the model of `new.gguf` under every name. */
export type Materials = { readonly folder: string; readonly registryHost: string };

/** One kind of change to a store, with its setup; it affects the model "target". */
export type StoreChange = {
  readonly verb: "create" | "copy" | "delete" | "pull";
  readonly setUp: (stores: ModelStores, materials: Materials) => Promise<void>;
  readonly run: (stores: ModelStores, materials: Materials) => Promise<void>;
};

const extras = {
  system: "Be brief",
  licenses: ["Public domain"],
  parameters: { num_ctx: 64 },
  messages: [{ role: "user" as const, content: "Hello" }],
};

export const storeChanges = {
  "create a name": {
    verb: "create",
    setUp: addNeighbours,
    run: (stores, { folder }) =>
      createFromFile(stores, { name: "target", file: join(folder, "new.gguf"), extras }),
  },
  "create over a name": {
    verb: "create",
    setUp: addTarget,
    run: (stores, { folder }) =>
      createFromFile(stores, { name: "Target", file: join(folder, "new.gguf"), extras }),
  },
  "create from uploaded shards": {
    verb: "create",
    async setUp(stores, materials) {
      await addNeighbours(stores, materials);
      for (const path of shardPaths(materials)) await upload(stores, path);
    },
    async run(stores, materials) {
      const files = new Map<string, string>();
      for (const path of shardPaths(materials)) files.set(basename(path), digestOf(await readFile(path)));
      await createModelAndWait(stores, { name: "target", source: { kind: "blobs", files } });
    },
  },
  "copy to a name": {
    verb: "copy",
    setUp: addNeighbours,
    run: (stores) => createCatalog(stores).copy("neighbour", "target"),
  },
  "copy over a name": {
    verb: "copy",
    setUp: addTarget,
    run: (stores) => createCatalog(stores).copy("neighbour", "MADE"),
  },
  "delete a name with its own blobs": {
    verb: "delete",
    setUp: addTarget,
    run: removeTarget,
  },
  "delete a name that shares its blobs": {
    verb: "delete",
    async setUp(stores, materials) {
      await addNeighbours(stores, materials);
      await createCatalog(stores).copy("neighbour", "target");
    },
    run: removeTarget,
  },
  "delete a split model": {
    verb: "delete",
    async setUp(stores, materials) {
      await addNeighbours(stores, materials);
      await createFromFile(stores, { name: "target", file: shardPaths(materials)[0] ?? "" });
      await createCatalog(stores).describe("target");
    },
    run: removeTarget,
  },
  "pull a name": { verb: "pull", setUp: addNeighbours, run: pullTarget },
  "pull over a name": {
    verb: "pull",
    async setUp(stores, materials) {
      await addNeighbours(stores, materials);
      const file = join(materials.folder, "old.gguf");
      await createFromFile(stores, { name: pulledName(materials), file, extras: { template: "old" } });
    },
    run: pullTarget,
  },
} as const satisfies Record<string, StoreChange>;

export type ChangeName = keyof typeof storeChanges;

export async function saveMaterials(folder: string, registryHost: string): Promise<Materials> {
  for (const [index, name] of ["old", "new", "neighbour"].entries()) {
    await writeFile(join(folder, `${name}.gguf`), writeTiny(index + 1));
  }
  await saveShards(folder);
  return { folder, registryHost };
}

export function writeTiny(fill: number): Buffer {
  return writeModel({
    entries: [{ key: "general.architecture", type: "string", value: "llama" }],
    tensors: [{ name: "only", shape: [8], offset: 0 }],
    content: new Uint8Array(32).fill(fill),
  });
}

/** Two models that no change affects; one of them shares a layer with "target". */
async function addNeighbours(stores: ModelStores, { folder }: Materials): Promise<void> {
  const file = join(folder, "neighbour.gguf");
  await createFromFile(stores, { name: "neighbour", file, extras: { system: extras.system } });
  await createFromFile(stores, { name: "there.example/other/neighbour:small", file });
}

async function addTarget(stores: ModelStores, materials: Materials): Promise<void> {
  await addNeighbours(stores, materials);
  await createFromFile(stores, {
    name: "target",
    file: join(materials.folder, "old.gguf"),
    extras: { template: "old" },
  });
}

async function removeTarget(stores: ModelStores): Promise<void> {
  await createCatalog(stores).remove("target");
}

async function pullTarget(stores: ModelStores, materials: Materials): Promise<void> {
  await using puller = createPuller(stores);
  const outcome = await puller.pull(pulledName(materials));
  if (outcome !== "success") throw new Error(outcome);
}

function pulledName({ registryHost }: Materials): string {
  return `${registryHost}/team/target`;
}

function shardPaths({ folder }: Materials): readonly string[] {
  return [1, 2, 3].map((shard) => join(folder, `tiny-0000${shard}-of-00003.gguf`));
}

async function upload([store]: ModelStores, path: string): Promise<void> {
  const content = await readFile(path);
  await addBlob(store, digestOf(content), chunksOf(content));
}

async function* chunksOf(content: Buffer): AsyncGenerator<Uint8Array> {
  yield content;
}
