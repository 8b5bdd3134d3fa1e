import { isUtf8 } from "node:buffer";
import { type FileLocation, ModelFileError, type ModelFileProblem, quote } from "../model-file-error.ts";

/**
 * Header bytes a file may have. The largest vocabularies of today (262,144 tokens with merges) take 16 MB; eight
 * times that still parses within a second, and is all the memory a hostile header can make us use.
 */
export const maxHeaderBytes = 128 * 1024 * 1024;

/** Thrown when the bytes at hand end before the header does, while the file itself goes on. */
export class MoreBytesNeeded extends Error {
  readonly neededBytes: number;

  constructor(neededBytes: number) {
    super("The header goes on after the bytes at hand");
    this.neededBytes = neededBytes;
  }
}

/** Reads little-endian fields in order; every read is checked against the end of the file before it happens. */
export class ByteCursor {
  readonly bytes: Buffer;
  readonly fileBytes: number;
  #place: FileLocation = {};
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

  /** Names the key or tensor that is being read, for whatever goes wrong from here on. */
  enter(place: FileLocation): void {
    this.#place = place;
  }

  refuse(kind: ModelFileProblem["kind"], sentence: string): ModelFileError {
    return new ModelFileError({ kind, place: { ...this.#place, offset: this.#position }, sentence });
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
   * A count or length of 64 bits, at most what is left of the file when each counted thing takes `bytesEach`.
   * Beyond 2^53 the sum is inexact, but then it is far beyond every file as well.
   */
  count(what: string, bytesEach: number): number {
    const at = this.skip(8);
    const count = this.bytes.readUInt32LE(at) + this.bytes.readUInt32LE(at + 4) * 2 ** 32;
    if (count * bytesEach > this.remainingBytes) {
      const sentence = `The file says ${what} is ${this.bytes.readBigUInt64LE(at)}, and has ${this.remainingBytes} bytes left`;
      throw this.refuse("count-impossible", sentence);
    }
    if (this.#position + count * bytesEach > maxHeaderBytes) throw this.#refuseLength();
    return count;
  }

  /** The bytes of a string with its length before it. */
  string(what: string, mostBytes: number): Buffer {
    const length = this.count(`the length of ${what}`, 1);
    if (length > mostBytes) {
      throw this.refuse(
        "too-large",
        `The length of ${what} is ${length} bytes, and ${mostBytes} are allowed`,
      );
    }
    const start = this.skip(length);
    return this.bytes.subarray(start, start + length);
  }

  /** A string that identifies something: in UTF-8, not empty, without control characters. */
  identifier(kind: "key-invalid" | "tensor-name-invalid", mostBytes: number): string {
    const what = kind === "key-invalid" ? "a key" : "a tensor's name";
    const found = this.string(what, mostBytes);
    const text = found.toString("utf8");
    // oxlint-disable-next-line no-control-regex -- control characters are what it looks for
    if (text === "" || !isUtf8(found) || /[\u0000-\u001f\u007f]/u.test(text)) {
      throw this.refuse(kind, `The file has ${quote(text)} as ${what}, which is empty or not plain text`);
    }
    return text;
  }

  /**
   * Moves over strings with their lengths and gives the longest length. A vocabulary has hundreds of thousands,
   * so what is plainly inside the bytes at hand is stepped over here; `count` and `skip` refuse all the rest.
   */
  skipStrings(strings: number): number {
    const { bytes } = this;
    let longest = 0;
    for (let index = 0; index < strings; index += 1) {
      const at = this.#position;
      const isAtHand = at + 8 <= bytes.length && bytes.readUInt32LE(at + 4) === 0;
      const length = isAtHand ? bytes.readUInt32LE(at) : Number.POSITIVE_INFINITY;
      if (at + 8 + length <= bytes.length) this.#position = at + 8 + length;
      else this.skip(this.count("the length of a string in an array", 1));
      if (length > longest) longest = length;
    }
    return longest;
  }

  /** Moves over bytes that must exist and gives where they start. */
  skip(length: number): number {
    const start = this.#position;
    const end = start + length;
    if (end > this.bytes.length) this.#refuseEnd(end);
    this.#position = end;
    return start;
  }

  #refuseEnd(end: number): never {
    if (end > this.fileBytes) {
      const sentence = `The file ends at byte ${this.fileBytes}, and its header goes on to byte ${end} at least`;
      throw this.refuse("cut-short", sentence);
    }
    if (end > maxHeaderBytes) throw this.#refuseLength();
    throw new MoreBytesNeeded(end);
  }

  #refuseLength(): ModelFileError {
    return this.refuse("too-large", `The header is longer than ${maxHeaderBytes} bytes`);
  }
}
