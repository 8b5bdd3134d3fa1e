import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { type Entry, writeModel } from "@hearth-and-keep/gguf/testing";

/** A legal model of 24 weights in three files; their paths in order. */
export async function saveParts(folder: string): Promise<readonly string[]> {
  const paths = [1, 2, 3].map((part) => join(folder, `tiny-0000${part}-of-00003.gguf`));
  for (const [index, path] of paths.entries()) await writeFile(path, writePart(index));
  return paths;
}

function writePart(index: number): Buffer {
  const entries: Entry[] = [
    ...(index === 0 ? [{ key: "general.architecture", type: "string", value: "llama" } as const] : []),
    { key: "split.no", type: "uint16", value: index },
    { key: "split.count", type: "uint16", value: 3 },
  ];
  return writeModel({
    entries,
    tensors: [{ name: `part.${index}`, shape: [8], offset: 0 }],
    content: new Uint8Array(32),
  });
}
