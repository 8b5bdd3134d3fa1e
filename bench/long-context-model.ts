import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { testModel } from "@hearth-and-keep/test-servers";
import { createFromFile } from "../apps/hearth/src/models/create-from-file.ts";
import { openModelStore } from "../apps/hearth/src/models/store/model-store.ts";

/** The type of the value in a model file: a little-endian integer of 32 bits. */
const integerType = 4;

/** Adds the tiny model to a new store in this folder, as if it had been trained on a context of this length. */
export async function addLongContextModel(
  folder: string,
  name: string,
  contextTokens: number,
): Promise<void> {
  const bytes = await readFile(await testModel("tiny-llama.gguf"));
  const key = "llama.context_length";
  const type = bytes.indexOf(key) + key.length;
  if (type < key.length || bytes.readUInt32LE(type) !== integerType) throw new Error(`Cannot find "${key}"`);
  bytes.writeUInt32LE(contextTokens, type + 4);
  const file = join(folder, "long-context.gguf");
  await writeFile(file, bytes);
  await createFromFile([await openModelStore(join(folder, "store"), "own")], { name, file });
}
