import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { replaceHeaderInteger, testModel } from "@hearth-and-keep/test-servers";
import { createFromFile } from "../apps/hearth/src/models/create-from-file.ts";
import { openModelStore } from "../apps/hearth/src/models/store/model-store.ts";

/** Adds the tiny model to a new store in this folder, as if it had been trained on a context of this length. */
export async function addLongContextModel(
  folder: string,
  name: string,
  contextTokens: number,
): Promise<void> {
  const bytes = await readFile(await testModel("tiny-llama.gguf"));
  replaceHeaderInteger(bytes, "llama.context_length", contextTokens);
  const file = join(folder, "long-context.gguf");
  await writeFile(file, bytes);
  await createFromFile([await openModelStore(join(folder, "store"), "own")], { name, file });
}
