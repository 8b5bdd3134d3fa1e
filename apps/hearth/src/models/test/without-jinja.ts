import { copyFile, open, rm } from "node:fs/promises";
import { testModel } from "@hearth-and-keep/test-servers";

/** Puts SmolLM2 at a path, without the Jinja template that counts before a Go template. */
export async function placeWithoutJinja(path: string): Promise<void> {
  // A blob of a test store may be a link to the weights of all tests.
  await rm(path, { force: true });
  await copyFile(await testModel("smollm2-135m-instruct-q4_1.gguf"), path);
  await using handle = await open(path, "r+");
  const { buffer } = await handle.read({ buffer: Buffer.alloc(4 * 1024 * 1024), position: 0 });
  const place = buffer.indexOf("tokenizer.chat_template");
  if (place === -1) throw new Error("Cannot find the template of the model file");
  // The key gets another name of the same length, so that nothing else of the file moves.
  await handle.write("tokenizer.xxxx_template", place);
}
