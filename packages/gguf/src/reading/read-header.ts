/**
 * @module
 * Parses the GGUF format: takes bytes and returns the header, or throws a ModelFileError that says what is wrong and
 * where. No value is used before it is checked: no allocation exceeds what the file can contain, no length reaches past
 * its end, and time and memory are bounded by `maxHeaderBytes`. Does not check what the values mean.
 * Imported by this package only.
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

/** For keys and for tensors. llama.cpp compares each with all previous ones, which takes a second at this count. */
const maxEntries = 16_384;
const maxKeyBytes = 65_535;
const minKeyBytes = 14;
const minTensorBytes = 33;
const defaultAlignment = 32;
const maxAlignment = 65_536;

/** Reads the header of a file of `fileBytes` from its first bytes; throws MoreBytesNeeded if they are not enough. */
export function readHeader(bytes: Uint8Array, fileBytes: number): Header {
  const cursor = new ByteCursor(bytes, fileBytes);
  const version = readVersion(cursor);
  const tensorCount = readEntryCount(cursor, "the number of tensors", minTensorBytes);
  const keyCount = readEntryCount(cursor, "the number of keys", minKeyBytes);
  const metadata = readMetadata(cursor, keyCount);
  const alignment = findAlignment(metadata);
  const tensors = readTensors(cursor, tensorCount);
  return { version, metadata, tensors, ...checkLayout(cursor, tensors, alignment) };
}

function readVersion(cursor: ByteCursor): number {
  const start = cursor.skip(4);
  const magic = cursor.bytes.toString("latin1", start, start + 4);
  if (magic !== "GGUF")
    throw cursor.createError("not-gguf", `The file starts with ${quote(magic)}, not with "GGUF"`);
  const version = cursor.uint32();
  if (version === 2 || version === 3) return version;
  if (version !== 0 && version % 65_536 === 0) {
    throw cursor.createError("big-endian", "The file is big-endian; only little-endian files are supported");
  }
  throw cursor.createError(
    "version-unsupported",
    `The file has GGUF version ${version}; versions 2 and 3 are supported`,
  );
}

function readEntryCount(cursor: ByteCursor, what: string, bytesEach: number): number {
  const count = cursor.count(what, bytesEach);
  if (count <= maxEntries) return count;
  throw cursor.createError(
    "too-large",
    `The file declares ${count} as ${what}; the maximum is ${maxEntries}`,
  );
}

function readMetadata(cursor: ByteCursor, count: number): Metadata {
  const metadata = new Map<string, MetadataValue>();
  const budget = { innerLists: maxInnerLists };
  for (let index = 0; index < count; index += 1) {
    cursor.setLocation({});
    const key = cursor.identifier("key-invalid", maxKeyBytes);
    cursor.setLocation({ key });
    if (metadata.has(key)) throw cursor.createError("key-repeated", `The key ${quote(key)} appears twice`);
    metadata.set(key, readValue(cursor, budget));
  }
  return metadata;
}

function findAlignment(metadata: Metadata): number {
  const key = "general.alignment";
  const found = metadata.get(key);
  if (found === undefined) return defaultAlignment;
  const { type, value } = found;
  const isPowerOfTwo = typeof value === "number" && value > 0 && (value & (value - 1)) === 0;
  if (type === "uint32" && isPowerOfTwo && value <= maxAlignment) return value;
  const message = `The alignment must be a power of two up to ${maxAlignment}, stored as uint32`;
  throw new ModelFileError({ kind: "alignment-invalid", location: { key }, message });
}
