import { promisify } from "node:util";
import { constants, zstdDecompress } from "node:zlib";

const decompress = promisify(zstdDecompress);

/** A sender may demand a window of up to 2 GB for a few bytes; the format asks readers for no more than 8 MB. */
const largestWindow = { [constants.ZSTD_d_windowLogMax]: 23 };

/** Stops at the limit, so that a small body cannot become a large one. */
export function unpack(bytes: Buffer, mostBytes: number): Promise<Buffer> {
  return decompress(bytes, { maxOutputLength: mostBytes, params: largestWindow });
}

/** Whether a code is the unpacker's complaint about what it was given. */
export function isPackedWrongly(code: string): boolean {
  return code.startsWith("ZSTD_error") || code === "Z_BUF_ERROR";
}
