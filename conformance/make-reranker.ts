import { readFile } from "node:fs/promises";
import {
  endOfHeaderText,
  readHeaderInteger,
  replaceHeaderInteger,
  testModel,
} from "@hearth-and-keep/test-servers";

const rankPooling = 4;
const alignment = 32;

/**
 * MiniLM with a classifier on top, which makes it a reranker: its score is the weighted sum of the vector of the first
 * token. The weights follow a rule instead of training, so that the scores differ but mean nothing.
 */
export async function makeReranker(): Promise<Buffer> {
  const file = await readFile(await testModel("all-minilm-l6-v2-f32.gguf"));
  replaceHeaderInteger(file, "bert.pooling_type", rankPooling);
  const width = readHeaderInteger(file, "bert.embedding_length");
  const { end, dataStart } = findTensorDescriptions(file);
  const tensors = file.subarray(dataStart);
  const offset = align(tensors.length);
  const description = describeTensor("cls.output.weight", width, offset);
  const header = Buffer.concat([file.subarray(0, end), description]);
  header.writeBigUInt64LE(header.readBigUInt64LE(8) + 1n, 8);
  const weights = Float32Array.from({ length: width }, (_, index) => Math.sin(index));
  return Buffer.concat([
    header,
    Buffer.alloc(align(header.length) - header.length),
    tensors,
    Buffer.alloc(offset - tensors.length),
    Buffer.from(weights.buffer),
  ]);
}

function align(length: number): number {
  return Math.ceil(length / alignment) * alignment;
}

/** The name is followed by the number of dimensions, the dimensions, the type and the offset of the weights. */
function endOfDescription(file: Buffer, name: string): number {
  const dimensions = endOfHeaderText(file, name);
  return dimensions + 4 + 8 * file.readUInt32LE(dimensions) + 4 + 8;
}

function findTensorDescriptions(file: Buffer): { readonly end: number; readonly dataStart: number } {
  let end = endOfDescription(file, "token_embd.weight");
  const isDescription = (start: number): boolean => {
    const length = Number(file.readBigUInt64LE(start));
    return (
      length > 0 &&
      length < 64 &&
      /^[a-z][\w.]+$/u.test(file.toString("latin1", start + 8, start + 8 + length))
    );
  };
  while (isDescription(end)) {
    const length = Number(file.readBigUInt64LE(end));
    end = endOfDescription(file, file.toString("latin1", end + 8, end + 8 + length));
  }
  return { end, dataStart: align(end) };
}

function describeTensor(name: string, width: number, offset: number): Buffer {
  const bytes = Buffer.alloc(8 + name.length + 4 + 8 + 4 + 8);
  let at = bytes.writeBigUInt64LE(BigInt(name.length), 0);
  at += bytes.write(name, at, "latin1");
  at = bytes.writeUInt32LE(1, at);
  at = bytes.writeBigUInt64LE(BigInt(width), at);
  // 32-bit floats.
  at = bytes.writeUInt32LE(0, at);
  bytes.writeBigUInt64LE(BigInt(offset), at);
  return bytes;
}
