import { quote } from "../model-file-error.ts";
import type { ByteCursor } from "./byte-cursor.ts";
import { tensorKinds } from "./tensor-kinds.ts";

export type Tensor = {
  readonly name: string;
  readonly type: string;
  /** The first dimension is contiguous in the file. */
  readonly shape: readonly number[];
  readonly weights: number;
  readonly bytes: number;
  /** From the start of the data section. */
  readonly offset: number;
};

/** ggml stores names in 64 bytes, including the terminating zero. */
const maxNameBytes = 63;
const maxDimensions = 4;
const maxWeights = 2n ** 63n - 1n;

/** Reads the tensor table and checks each tensor individually; `checkLayout` checks their offsets. */
export function readTensors(cursor: ByteCursor, count: number): readonly Tensor[] {
  const names = new Set<string>();
  const tensors: Tensor[] = [];
  for (let index = 0; index < count; index += 1) {
    cursor.setLocation({});
    const name = cursor.identifier("tensor-name-invalid", maxNameBytes);
    cursor.setLocation({ tensor: name });
    if (names.has(name)) throw cursor.createError("tensor-repeated", `Two tensors are named ${quote(name)}`);
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
    throw cursor.createError("tensor-type-unknown", `The tensor ${quote(name)} has unknown type ${number}`);
  }
  const weights = shape.reduce((product, length) => product * length, 1n);
  const rowWeights = shape[0] ?? 0n;
  if (weights > maxWeights || rowWeights % BigInt(kind.blockWeights) !== 0n) {
    const message = `The tensor ${quote(name)} of type ${kind.name} cannot have the shape ${shape.join(" × ")}`;
    throw cursor.createError("tensor-shape-invalid", message);
  }
  const bytes = (weights / BigInt(kind.blockWeights)) * BigInt(kind.blockBytes);
  const offset = cursor.uint64();
  if (offset + bytes > BigInt(cursor.fileBytes)) {
    const message = `The tensor ${quote(name)} of ${bytes} bytes at ${offset} does not fit in the file`;
    throw cursor.createError("tensor-outside", message);
  }
  // Exact as numbers: a tensor within a file has fewer than 2^53 bytes, and a block at most 256 weights.
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
  if (dimensions < 1 || dimensions > maxDimensions) {
    const message = `The tensor ${quote(name)} has ${dimensions} dimensions; 1 to ${maxDimensions} are allowed`;
    throw cursor.createError("tensor-shape-invalid", message);
  }
  const shape = Array.from({ length: dimensions }, () => cursor.uint64());
  if (shape.includes(0n)) {
    throw cursor.createError("tensor-shape-invalid", `The tensor ${quote(name)} has a dimension of 0`);
  }
  return shape;
}
