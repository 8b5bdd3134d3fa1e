import { isUtf8 } from "node:buffer";
import { type FileLocation, ModelFileError, type ModelFileErrorDetail, quote } from "../model-file-error.ts";

/**
 * Maximum size of a header. The largest current vocabularies (262,144 tokens with merges) take 16 MB. Eight times that
 * still parses within a second, and bounds the memory that a hostile header can use.
 */
export const maxHeaderBytes = 128 * 1024 * 1024;

/** Thrown if the header continues beyond the bytes read so far and the file has more. */
export class MoreBytesNeeded extends Error {
  readonly neededBytes: number;

  constructor(neededBytes: number) {
    super("The header continues beyond the bytes read so far");
    this.neededBytes = neededBytes;
  }
}

/** Reads little-endian fields sequentially. Every read is checked against the end of the file first. */
export class ByteCursor {
  readonly bytes: Buffer;
  readonly fileBytes: number;
  #location: FileLocation = {};
  #position = 0;

  constructor(bytes: Uint8Array, fileBytes: number) {
    this.bytes = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    this.fileBytes = fileBytes;
  }

  get position(): number {
    return this.#position;
  }

  get remainingBytes(): number {
    return this.fileBytes - this.#position;
  }

  /** Sets the key or tensor that subsequent errors report. */
  setLocation(location: FileLocation): void {
    this.#location = location;
  }

  createError(kind: ModelFileErrorDetail["kind"], message: string): ModelFileError {
    return new ModelFileError({ kind, location: { ...this.#location, offset: this.#position }, message });
  }

  uint8(): number {
    return this.bytes.readUInt8(this.skip(1));
  }

  uint32(): number {
    return this.bytes.readUInt32LE(this.skip(4));
  }

  uint64(): bigint {
    return this.bytes.readBigUInt64LE(this.skip(8));
  }

  /**
   * Reads a 64-bit count or length, which must fit the rest of the file if each counted item takes `bytesEach`.
   * Above 2^53 the sum is inexact, but then it exceeds any file size anyway.
   */
  count(what: string, bytesEach: number): number {
    const at = this.skip(8);
    const count = this.bytes.readUInt32LE(at) + this.bytes.readUInt32LE(at + 4) * 2 ** 32;
    if (count * bytesEach > this.remainingBytes) {
      const message = `The file declares ${this.bytes.readBigUInt64LE(at)} as ${what}, but only ${this.remainingBytes} bytes are left`;
      throw this.createError("count-impossible", message);
    }
    if (this.#position + count * bytesEach > maxHeaderBytes) throw this.#headerTooLarge();
    return count;
  }

  /** Reads a length-prefixed string as bytes. */
  string(what: string, maxBytes: number): Buffer {
    const length = this.count(`the length of ${what}`, 1);
    if (length > maxBytes) {
      throw this.createError(
        "too-large",
        `The length of ${what} is ${length} bytes; the maximum is ${maxBytes}`,
      );
    }
    const start = this.skip(length);
    return this.bytes.subarray(start, start + length);
  }

  /** Reads a key or name: valid UTF-8, not empty, without control characters. */
  identifier(kind: "key-invalid" | "tensor-name-invalid", maxBytes: number): string {
    const what = kind === "key-invalid" ? "a key" : "a tensor name";
    const found = this.string(what, maxBytes);
    const text = found.toString("utf8");
    // oxlint-disable-next-line no-control-regex -- detects control characters
    if (text === "" || !isUtf8(found) || /[\u0000-\u001f\u007f]/u.test(text)) {
      throw this.createError(
        kind,
        `The file has ${quote(text)} as ${what}, which is empty or not valid text`,
      );
    }
    return text;
  }

  /**
   * Skips length-prefixed strings and returns the length of the longest. A vocabulary has hundreds of thousands of them,
   * so strings that lie completely within the buffer take a fast path; `count` and `skip` handle and reject the rest.
   */
  skipStrings(strings: number): number {
    const { bytes } = this;
    let longest = 0;
    for (let index = 0; index < strings; index += 1) {
      const at = this.#position;
      const isBuffered = at + 8 <= bytes.length && bytes.readUInt32LE(at + 4) === 0;
      const length = isBuffered ? bytes.readUInt32LE(at) : Number.POSITIVE_INFINITY;
      if (at + 8 + length <= bytes.length) this.#position = at + 8 + length;
      else this.skip(this.count("the length of a string in an array", 1));
      if (length > longest) longest = length;
    }
    return longest;
  }

  /** Skips bytes, which must exist, and returns their start. */
  skip(length: number): number {
    const start = this.#position;
    const end = start + length;
    if (end > this.bytes.length) this.#throwAtEnd(end);
    this.#position = end;
    return start;
  }

  #throwAtEnd(end: number): never {
    if (end > this.fileBytes) {
      const message = `The file ends at byte ${this.fileBytes}, but its header continues to at least byte ${end}`;
      throw this.createError("cut-short", message);
    }
    if (end > maxHeaderBytes) throw this.#headerTooLarge();
    throw new MoreBytesNeeded(end);
  }

  #headerTooLarge(): ModelFileError {
    return this.createError("too-large", `The header is longer than ${maxHeaderBytes} bytes`);
  }
}
