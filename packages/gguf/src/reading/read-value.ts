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

/** What one header may still use up; shared by all its values. */
export type ValueBudget = { innerLists: number };

/** No model nests arrays; the format allows it, and llama.cpp refuses it by name. */
const deepestNesting = 4;
export const maxInnerLists = 10_000;
/** A chat template has kilobytes, a licence tens of them. */
const mostStringBytes = 16 * 1024 * 1024;

export function readValue(cursor: ByteCursor, budget: ValueBudget): MetadataValue {
  const { name } = readKind(cursor);
  if (name === "array") return { type: name, value: readList(cursor, { budget, depth: 1 }) };
  if (name === "string") {
    return { type: name, value: cursor.string("a text", mostStringBytes).toString("utf8") };
  }
  if (name === "bool") return { type: name, value: readBooleans(cursor, 1)[0] === 1 };
  // One element was asked for, so the zero is never taken.
  return { type: name, value: readNumbers(cursor, name, 1)[0] ?? 0 };
}

function readKind(cursor: ByteCursor): ValueKind {
  const number = cursor.uint32();
  const kind = valueKinds[number];
  if (kind === undefined) throw cursor.refuse("value-type-unknown", `There is no value type ${number}`);
  return kind;
}

function readList(
  cursor: ByteCursor,
  { budget, depth }: { readonly budget: ValueBudget; readonly depth: number },
): MetadataList {
  if (depth > deepestNesting) {
    throw cursor.refuse("nesting-too-deep", `Arrays are nested more than ${deepestNesting} deep`);
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
    throw cursor.refuse("too-large", `The file nests more than ${maxInnerLists} arrays`);
  }
  const values = Array.from({ length }, () => readList(cursor, { budget, depth: depth + 1 }));
  return { kind: "lists", length, values };
}

function readBooleans(cursor: ByteCursor, length: number): Uint8Array {
  const start = cursor.skip(length);
  const values = Uint8Array.from(cursor.bytes.subarray(start, start + length));
  const wrong = values.find((value) => value > 1);
  if (wrong !== undefined) throw cursor.refuse("value-invalid", `A truth value is ${wrong}, neither 0 nor 1`);
  return values;
}

/** Copied, because numbers in a file lie at any byte and typed arrays only on their own boundaries. */
function readNumbers(cursor: ByteCursor, kind: NumberKind, length: number): NumberList {
  const { bytesEach, make } = numberLists[kind];
  const start = cursor.skip(length * bytesEach);
  const copy = new ArrayBuffer(length * bytesEach);
  new Uint8Array(copy).set(cursor.bytes.subarray(start, start + length * bytesEach));
  return make(copy);
}

/** Typed arrays have the machine's byte order, which is the file's on all machines Node 24 is built for but one. */
const numberLists: Readonly<
  Record<NumberKind, { readonly bytesEach: number; readonly make: (bytes: ArrayBuffer) => NumberList }>
> = {
  uint8: { bytesEach: 1, make: (bytes) => new Uint8Array(bytes) },
  int8: { bytesEach: 1, make: (bytes) => new Int8Array(bytes) },
  uint16: { bytesEach: 2, make: (bytes) => new Uint16Array(bytes) },
  int16: { bytesEach: 2, make: (bytes) => new Int16Array(bytes) },
  uint32: { bytesEach: 4, make: (bytes) => new Uint32Array(bytes) },
  int32: { bytesEach: 4, make: (bytes) => new Int32Array(bytes) },
  float32: { bytesEach: 4, make: (bytes) => new Float32Array(bytes) },
  uint64: { bytesEach: 8, make: (bytes) => new BigUint64Array(bytes) },
  int64: { bytesEach: 8, make: (bytes) => new BigInt64Array(bytes) },
  float64: { bytesEach: 8, make: (bytes) => new Float64Array(bytes) },
};
