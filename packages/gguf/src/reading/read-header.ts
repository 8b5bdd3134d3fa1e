/**
 * @module
 * The reader of the GGUF format: bytes in, header out, or a ModelFileError that names what is wrong and where.
 * Promises that nothing in the file is believed before it is checked: no allocation is sized by a count the
 * file cannot hold, no length reaches past its end, and time and memory are bounded by `mostHeaderBytes`.
 * What the values mean is no matter here. Imported by this package only.
 */
import { ModelFileError, quote } from "../model-file-error.ts";
import { ByteCursor } from "./byte-cursor.ts";
import { checkLayout, type Layout } from "./check-layout.ts";
import { readTensors, type Tensor } from "./read-tensors.ts";
import { maxInnerLists, readValue } from "./read-value.ts";
import type { MetadataValue } from "./value-kinds.ts";

export type Metadata = ReadonlyMap<string, MetadataValue>;
export type Header = Layout & {
  readonly version: number;
  readonly metadata: Metadata;
  readonly tensors: readonly Tensor[];
};

/** Of keys and of tensors. llama.cpp compares each with all before it, which takes a second at this count. */
const mostEntries = 16_384;
const longestKey = 65_535;
const leastKeyBytes = 14;
const leastTensorBytes = 33;
const usualAlignment = 32;
const largestAlignment = 65_536;

/** Reads the header of a file of `fileBytes` from its first bytes; throws MoreBytesNeeded when they are too few. */
export function readHeader(bytes: Uint8Array, fileBytes: number): Header {
  const cursor = new ByteCursor(bytes, fileBytes);
  const version = readVersion(cursor);
  const tensorCount = readEntryCount(cursor, "the number of tensors", leastTensorBytes);
  const keyCount = readEntryCount(cursor, "the number of keys", leastKeyBytes);
  const metadata = readMetadata(cursor, keyCount);
  const alignment = findAlignment(metadata);
  const tensors = readTensors(cursor, tensorCount);
  return { version, metadata, tensors, ...checkLayout(cursor, tensors, alignment) };
}

function readVersion(cursor: ByteCursor): number {
  const start = cursor.skip(4);
  const magic = cursor.bytes.toString("latin1", start, start + 4);
  if (magic !== "GGUF")
    throw cursor.refuse("not-gguf", `The file starts with ${quote(magic)}, not with "GGUF"`);
  const version = cursor.uint32();
  if (version === 2 || version === 3) return version;
  if (version !== 0 && version % 65_536 === 0) {
    throw cursor.refuse(
      "big-endian",
      "The file has its numbers in big-endian order, for another kind of machine",
    );
  }
  throw cursor.refuse(
    "version-unsupported",
    `The file has version ${version} of GGUF, and 2 and 3 are known`,
  );
}

function readEntryCount(cursor: ByteCursor, what: string, bytesEach: number): number {
  const count = cursor.count(what, bytesEach);
  if (count <= mostEntries) return count;
  throw cursor.refuse("too-large", `The file says ${what} is ${count}, and ${mostEntries} are allowed`);
}

function readMetadata(cursor: ByteCursor, count: number): Metadata {
  const metadata = new Map<string, MetadataValue>();
  const budget = { innerLists: maxInnerLists };
  for (let index = 0; index < count; index += 1) {
    cursor.enter({});
    const key = cursor.identifier("key-invalid", longestKey);
    cursor.enter({ key });
    if (metadata.has(key)) throw cursor.refuse("key-repeated", `The key ${quote(key)} appears twice`);
    metadata.set(key, readValue(cursor, budget));
  }
  return metadata;
}

function findAlignment(metadata: Metadata): number {
  const key = "general.alignment";
  const found = metadata.get(key);
  if (found === undefined) return usualAlignment;
  const { type, value } = found;
  const isPowerOfTwo = typeof value === "number" && value > 0 && (value & (value - 1)) === 0;
  if (type === "uint32" && isPowerOfTwo && value <= largestAlignment) return value;
  const sentence = `The alignment is not a power of two up to ${largestAlignment} in 32 bits`;
  throw new ModelFileError({ kind: "alignment-invalid", place: { key }, sentence });
}
