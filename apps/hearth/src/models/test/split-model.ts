import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { type Entry, writeModel } from "@hearth-and-keep/gguf/testing";

/** Writes a valid model of 24 weights in three shards; returns their paths in order. */
export async function saveShards(folder: string): Promise<readonly string[]> {
  const paths = [1, 2, 3].map((shard) => join(folder, `tiny-0000${shard}-of-00003.gguf`));
  for (const [index, path] of paths.entries()) await writeFile(path, writeShard(index));
  return paths;
}

function writeShard(index: number): Buffer {
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
