/**
 * @module
 * Writes small model files, valid or not: for tests that read and mutate them, and for an engine's self-test. Validates
 * nothing. Imported through the package's index, and by its own tests.
 */
import { valueKinds } from "../reading/value-kinds.ts";

/** A metadata entry to write, valid or not. */
export type Entry = {
  readonly key: string;
  readonly type: ValueName;
  readonly value: EntryValue;
};
export type EntryValue = number | bigint | boolean | string | Uint8Array | EntryList;
type EntryList = { readonly of: ValueName; readonly values: readonly EntryValue[] };
type ValueName = (typeof valueKinds)[number]["name"];

type WrittenTensor = {
  readonly name: string;
  /** ggml's type number; 0 is F32. */
  readonly type?: number;
  readonly shape: readonly (number | bigint)[];
  readonly offset: number | bigint;
};

export type WrittenModel = {
  readonly version?: number;
  readonly alignment?: number;
  readonly entries?: readonly Entry[];
  readonly tensors?: readonly WrittenTensor[];
  /** Bytes after the header and its padding. */
  readonly content?: Uint8Array;
};

/** Serializes a small model file without checking that it is valid. */
export function writeModel({
  version = 3,
  alignment = 32,
  entries = [],
  tensors = [],
  content,
}: WrittenModel) {
  const header = Buffer.concat([
    Buffer.from("GGUF", "latin1"),
    number(version, 4),
    number(tensors.length, 8),
    number(entries.length, 8),
    ...entries.flatMap(({ key, type, value }) => [text(key), kind(type), writeValue(type, value)]),
    ...tensors.map(writeTensor),
  ]);
  const padding = Buffer.alloc((alignment - (header.length % alignment)) % alignment);
  return Buffer.concat([header, padding, content ?? new Uint8Array()]);
}

function writeValue(type: ValueName, value: EntryValue): Buffer {
  if (typeof value === "string" || value instanceof Uint8Array) return text(value);
  if (typeof value === "object") {
    const { of, values } = value;
    return Buffer.concat([kind(of), number(values.length, 8), ...values.map((each) => writeValue(of, each))]);
  }
  if (type === "float32" || type === "float64") return writeFloat(type, Number(value));
  return number(BigInt(value), valueKinds.find(({ name }) => name === type)?.bytes ?? 0);
}

function writeFloat(type: "float32" | "float64", value: number): Buffer {
  return Buffer.from((type === "float32" ? Float32Array.of(value) : Float64Array.of(value)).buffer);
}

function writeTensor({ name, type = 0, shape, offset }: WrittenTensor): Buffer {
  const dimensions = shape.map((length) => number(length, 8));
  return Buffer.concat([
    text(name),
    number(shape.length, 4),
    ...dimensions,
    number(type, 4),
    number(offset, 8),
  ]);
}

function kind(type: ValueName): Buffer {
  return number(
    valueKinds.findIndex(({ name }) => name === type),
    4,
  );
}

function text(content: string | Uint8Array): Buffer {
  const bytes = Buffer.from(content);
  return Buffer.concat([number(bytes.length, 8), bytes]);
}

function number(value: number | bigint, width: number): Buffer {
  const bytes = Buffer.alloc(8);
  bytes.writeBigUInt64LE(BigInt.asUintN(64, BigInt(value)));
  return bytes.subarray(0, width);
}
