import type { ByteCursor } from "./byte-cursor.ts";
import type { StringList } from "./value-kinds.ts";

/** Checks the length of every string in an array without decoding the strings. */
export function readStringList(cursor: ByteCursor, length: number): StringList {
  const start = cursor.position;
  const maxStringBytes = cursor.skipStrings(length);
  // Copied, so that only these bytes stay in memory and not the whole buffer.
  return createStringList(Buffer.from(cursor.bytes.subarray(start, cursor.position)), length, maxStringBytes);
}

function createStringList(bytes: Buffer, length: number, maxStringBytes: number): StringList {
  let starts: Uint32Array | undefined;
  function at(index: number): string | undefined {
    starts ??= findStarts(bytes, length);
    const start = starts[index];
    return start === undefined ? undefined : stringAt(bytes, start);
  }
  return {
    kind: "strings",
    length,
    maxStringBytes,
    at,
    has: (text) => hasString(bytes, text),
    binaryStrings: () => iterateStrings(bytes, "latin1"),
    [Symbol.iterator]: () => iterateStrings(bytes, "utf8"),
  };
}

function* iterateStrings(bytes: Buffer, encoding: "utf8" | "latin1"): Generator<string> {
  for (let start = 0; start < bytes.length; start += 8 + lengthAt(bytes, start)) {
    yield bytes.toString(encoding, start + 8, start + 8 + lengthAt(bytes, start));
  }
}

function findStarts(bytes: Buffer, length: number): Uint32Array {
  const starts = new Uint32Array(length);
  let start = 0;
  for (let index = 0; index < length; index += 1) {
    starts[index] = start;
    start += 8 + lengthAt(bytes, start);
  }
  return starts;
}

/** The lengths were checked when the list was read, and the header is shorter than 2^32 bytes. */
function lengthAt(bytes: Buffer, start: number): number {
  return bytes.readUInt32LE(start);
}

function stringAt(bytes: Buffer, start: number): string {
  return bytes.toString("utf8", start + 8, start + 8 + lengthAt(bytes, start));
}

/**
 * Searches for the length and the text together; a false match would need the same eight length bytes inside a string.
 */
function hasString(bytes: Buffer, text: string): boolean {
  const wanted = Buffer.from(text, "utf8");
  const length = Buffer.alloc(8);
  length.writeBigUInt64LE(BigInt(wanted.length));
  return bytes.includes(Buffer.concat([length, wanted]));
}
