import { quote } from "../model-file-error.ts";
import type { ByteCursor } from "./byte-cursor.ts";
import { tensorKinds } from "./tensor-kinds.ts";

export type Tensor = {
  readonly name: string;
  readonly type: string;
  /** The first dimension is the one that lies together in the file. */
  readonly shape: readonly number[];
  readonly weights: number;
  readonly bytes: number;
  /** From the start of the data section. */
  readonly offset: number;
};

/** ggml keeps 64 bytes for a name, one of them the closing zero. */
const longestName = 63;
const mostDimensions = 4;
const mostWeights = 2n ** 63n - 1n;

/** The table of tensors, each by itself; whether they lie rightly is for `checkLayout`. */
export function readTensors(cursor: ByteCursor, count: number): readonly Tensor[] {
  const names = new Set<string>();
  const tensors: Tensor[] = [];
  for (let index = 0; index < count; index += 1) {
    cursor.enter({});
    const name = cursor.identifier("tensor-name-invalid", longestName);
    cursor.enter({ tensor: name });
    if (names.has(name)) throw cursor.refuse("tensor-repeated", `Two tensors are named ${quote(name)}`);
    names.add(name);
    tensors.push(readTensor(cursor, name));
  }
  return tensors;
}

function readTensor(cursor: ByteCursor, name: string): Tensor {
  const shape = readShape(cursor, name);
  const number = cursor.uint32();
  const kind = tensorKinds.get(number);
  if (kind === undefined) {
    throw cursor.refuse("tensor-type-unknown", `The tensor ${quote(name)} has the unknown type ${number}`);
  }
  const weights = shape.reduce((product, length) => product * length, 1n);
  const rowWeights = shape[0] ?? 0n;
  if (weights > mostWeights || rowWeights % BigInt(kind.blockWeights) !== 0n) {
    const sentence = `The tensor ${quote(name)} of type ${kind.name} cannot have the shape ${shape.join(" × ")}`;
    throw cursor.refuse("tensor-shape-invalid", sentence);
  }
  const bytes = (weights / BigInt(kind.blockWeights)) * BigInt(kind.blockBytes);
  const offset = cursor.uint64();
  if (offset + bytes > BigInt(cursor.fileBytes)) {
    const sentence = `The tensor ${quote(name)} of ${bytes} bytes at ${offset} is not within the file`;
    throw cursor.refuse("tensor-outside", sentence);
  }
  // Exact from here on: what lies within a file has fewer than 2^53 bytes, and a block no more than 256 weights.
  return {
    name,
    type: kind.name,
    shape: shape.map(Number),
    weights: Number(weights),
    bytes: Number(bytes),
    offset: Number(offset),
  };
}

function readShape(cursor: ByteCursor, name: string): readonly bigint[] {
  const dimensions = cursor.uint32();
  if (dimensions < 1 || dimensions > mostDimensions) {
    const sentence = `The tensor ${quote(name)} has ${dimensions} dimensions, and 1 to ${mostDimensions} are allowed`;
    throw cursor.refuse("tensor-shape-invalid", sentence);
  }
  const shape = Array.from({ length: dimensions }, () => cursor.uint64());
  if (shape.includes(0n)) {
    throw cursor.refuse("tensor-shape-invalid", `The tensor ${quote(name)} has a dimension of 0`);
  }
  return shape;
}
