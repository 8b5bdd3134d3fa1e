import { readFile } from "node:fs/promises";
import { inspectModelFile, type MetadataValue } from "@hearth-and-keep/gguf";
import { type Entry, writeModel } from "@hearth-and-keep/gguf/testing";

/** ggml's type ids for the types in the test models. */
const typeIds: Readonly<Record<string, number>> = { F32: 0, F16: 1, Q4_0: 2, Q4_1: 3, Q8_0: 8, Q6_K: 14 };
const alignment = 32;

/** Splits a model file like llama.cpp's gguf-split: the first shard has all the metadata. */
export async function splitGguf(path: string, shardCount: number): Promise<readonly Buffer[]> {
  const { metadata, tensors } = await inspectModelFile(path);
  const file = await readFile(path);
  const dataStart = file.length - Math.max(...tensors.map(({ offset, bytes }) => align(offset + bytes)));
  const perShard = Math.ceil(tensors.length / shardCount);
  return Array.from({ length: shardCount }, (_none, shard) => {
    const own = tensors.slice(shard * perShard, (shard + 1) * perShard);
    let offset = 0;
    const shardTensors = own.map(({ name, type, shape, bytes }) => {
      const entry = { name, shape, type: typeIdOf(type), offset };
      offset += align(bytes);
      return entry;
    });
    const content = own.map((tensor) => {
      const from = dataStart + tensor.offset;
      const padding = Buffer.alloc(align(tensor.bytes) - tensor.bytes);
      return Buffer.concat([file.subarray(from, from + tensor.bytes), padding]);
    });
    const metadataEntries = shard === 0 ? [...metadata].map(([key, value]) => asEntry(key, value)) : [];
    return writeModel({
      entries: [
        ...metadataEntries,
        { key: "split.no", type: "uint16", value: shard },
        { key: "split.count", type: "uint16", value: shardCount },
        { key: "split.tensors.count", type: "int32", value: tensors.length },
      ],
      tensors: shardTensors,
      content: Buffer.concat(content),
    });
  });
}

function align(bytes: number): number {
  return Math.ceil(bytes / alignment) * alignment;
}

function typeIdOf(type: string): number {
  const number = typeIds[type];
  if (number === undefined) throw new Error(`Cannot write a tensor of type ${type}`);
  return number;
}

function asEntry(key: string, { type, value }: MetadataValue): Entry {
  if (typeof value !== "object") return { key, type, value };
  if (value.kind === "strings") return { key, type, value: { of: "string", values: [...value] } };
  if (value.kind === "numbers") return { key, type, value: { of: value.type, values: [...value.values] } };
  throw new Error(`Cannot write the list "${key}"`);
}
