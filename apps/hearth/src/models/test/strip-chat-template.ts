import { copyFile, open, rm } from "node:fs/promises";
import { testModel } from "@hearth-and-keep/test-servers";

/** Copies SmolLM2 to a path without its Jinja template, which would take precedence over a Go template. */
export async function copyWithoutChatTemplate(path: string): Promise<void> {
  // A blob of a test store may be a hard link to the shared weights.
  await rm(path, { force: true });
  await copyFile(await testModel("smollm2-135m-instruct-q4_1.gguf"), path);
  await using handle = await open(path, "r+");
  const { buffer } = await handle.read({ buffer: Buffer.alloc(4 * 1024 * 1024), position: 0 });
  const offset = buffer.indexOf("tokenizer.chat_template");
  if (offset === -1) throw new Error("Cannot find the template of the model file");
  // A key of the same length, so that no offset in the file changes.
  await handle.write("tokenizer.xxxx_template", offset);
}
