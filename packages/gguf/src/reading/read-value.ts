import type { ByteCursor } from "./byte-cursor.ts";
import { readStringList } from "./string-list.ts";
import {
  type MetadataList,
  type MetadataValue,
  type NumberKind,
  type NumberList,
  type ValueKind,
  valueKinds,
} from "./value-kinds.ts";

/** The remaining budget of a header, shared by all its values. */
export type ValueBudget = { innerLists: number };

/** The format allows nested arrays, but no model uses them and llama.cpp rejects them. */
const maxNesting = 4;
export const maxInnerLists = 10_000;
/** A chat template takes a few kilobytes, a license tens of kilobytes. */
const maxStringBytes = 16 * 1024 * 1024;

export function readValue(cursor: ByteCursor, budget: ValueBudget): MetadataValue {
  const { name } = readKind(cursor);
  if (name === "array") return { type: name, value: readList(cursor, { budget, depth: 1 }) };
  if (name === "string") {
    return { type: name, value: cursor.string("a string", maxStringBytes).toString("utf8") };
  }
  if (name === "bool") return { type: name, value: readBooleans(cursor, 1)[0] === 1 };
  // The list has exactly one element, so the fallback is never used.
  return { type: name, value: readNumbers(cursor, name, 1)[0] ?? 0 };
}

function readKind(cursor: ByteCursor): ValueKind {
  const number = cursor.uint32();
  const kind = valueKinds[number];
  if (kind === undefined) throw cursor.createError("value-type-unknown", `Unknown value type ${number}`);
  return kind;
}

function readList(
  cursor: ByteCursor,
  { budget, depth }: { readonly budget: ValueBudget; readonly depth: number },
): MetadataList {
  if (depth > maxNesting) {
    throw cursor.createError("nesting-too-deep", `Arrays are nested more than ${maxNesting} deep`);
  }
  const { name, bytes } = readKind(cursor);
  const length = cursor.count("the length of an array", bytes);
  if (name === "string") return readStringList(cursor, length);
  if (name === "bool") return { kind: "booleans", length, values: readBooleans(cursor, length) };
  if (name !== "array") {
    return { kind: "numbers", type: name, length, values: readNumbers(cursor, name, length) };
  }
  budget.innerLists -= length;
  if (budget.innerLists < 0) {
    throw cursor.createError("too-large", `The file nests more than ${maxInnerLists} arrays`);
  }
  const values = Array.from({ length }, () => readList(cursor, { budget, depth: depth + 1 }));
  return { kind: "lists", length, values };
}

function readBooleans(cursor: ByteCursor, length: number): Uint8Array {
  const start = cursor.skip(length);
  const values = Uint8Array.from(cursor.bytes.subarray(start, start + length));
  const invalid = values.find((value) => value > 1);
  if (invalid !== undefined)
    throw cursor.createError("value-invalid", `A boolean has the value ${invalid} instead of 0 or 1`);
  return values;
}

/** Copies the bytes, because typed arrays must be aligned and numbers in a file are not. */
function readNumbers(cursor: ByteCursor, kind: NumberKind, length: number): NumberList {
  const { bytesEach, create } = numberLists[kind];
  const start = cursor.skip(length * bytesEach);
  const copy = new ArrayBuffer(length * bytesEach);
  new Uint8Array(copy).set(cursor.bytes.subarray(start, start + length * bytesEach));
  return create(copy);
}

/** Typed arrays use the machine's byte order, which is little-endian on every platform of Node 24 except s390x. */
const numberLists: Readonly<
  Record<NumberKind, { readonly bytesEach: number; readonly create: (bytes: ArrayBuffer) => NumberList }>
> = {
  uint8: { bytesEach: 1, create: (bytes) => new Uint8Array(bytes) },
  int8: { bytesEach: 1, create: (bytes) => new Int8Array(bytes) },
  uint16: { bytesEach: 2, create: (bytes) => new Uint16Array(bytes) },
  int16: { bytesEach: 2, create: (bytes) => new Int16Array(bytes) },
  uint32: { bytesEach: 4, create: (bytes) => new Uint32Array(bytes) },
  int32: { bytesEach: 4, create: (bytes) => new Int32Array(bytes) },
  float32: { bytesEach: 4, create: (bytes) => new Float32Array(bytes) },
  uint64: { bytesEach: 8, create: (bytes) => new BigUint64Array(bytes) },
  int64: { bytesEach: 8, create: (bytes) => new BigInt64Array(bytes) },
  float64: { bytesEach: 8, create: (bytes) => new Float64Array(bytes) },
};
