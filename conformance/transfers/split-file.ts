import { readFile } from "node:fs/promises";
import { inspectModelFile, type MetadataValue } from "@hearth-and-keep/gguf";
import { type Entry, writeModel } from "@hearth-and-keep/gguf/testing";

/** ggml's numbers of the types that the test models have. */
const typeNumbers: Readonly<Record<string, number>> = { F32: 0, F16: 1, Q4_0: 2, Q4_1: 3, Q8_0: 8, Q6_K: 14 };
const alignment = 32;

/** A model file in parts, as llama.cpp's own tool splits it: the first has all the metadata. */
export async function splitFile(path: string, parts: number): Promise<readonly Buffer[]> {
  const { metadata, tensors } = await inspectModelFile(path);
  const whole = await readFile(path);
  const dataStart = whole.length - Math.max(...tensors.map(({ offset, bytes }) => align(offset + bytes)));
  const perPart = Math.ceil(tensors.length / parts);
  return Array.from({ length: parts }, (_none, part) => {
    const own = tensors.slice(part * perPart, (part + 1) * perPart);
    let offset = 0;
    const placed = own.map(({ name, type, shape, bytes }) => {
      const written = { name, shape, type: numberOf(type), offset };
      offset += align(bytes);
      return written;
    });
    const content = own.map((tensor) => {
      const from = dataStart + tensor.offset;
      const padding = Buffer.alloc(align(tensor.bytes) - tensor.bytes);
      return Buffer.concat([whole.subarray(from, from + tensor.bytes), padding]);
    });
    const described = part === 0 ? [...metadata].map(([key, value]) => asEntry(key, value)) : [];
    return writeModel({
      entries: [
        ...described,
        { key: "split.no", type: "uint16", value: part },
        { key: "split.count", type: "uint16", value: parts },
        { key: "split.tensors.count", type: "int32", value: tensors.length },
      ],
      tensors: placed,
      content: Buffer.concat(content),
    });
  });
}

function align(bytes: number): number {
  return Math.ceil(bytes / alignment) * alignment;
}

function numberOf(type: string): number {
  const number = typeNumbers[type];
  if (number === undefined) throw new Error(`Cannot write a tensor of type ${type}`);
  return number;
}

function asEntry(key: string, { type, value }: MetadataValue): Entry {
  if (typeof value !== "object") return { key, type, value };
  if (value.kind === "strings") return { key, type, value: { of: "string", values: [...value] } };
  if (value.kind === "numbers") return { key, type, value: { of: value.type, values: [...value.values] } };
  throw new Error(`Cannot write the list "${key}"`);
}
