import { constants } from "node:fs";
import { type FileHandle, open } from "node:fs/promises";
import { ModelFileError } from "../model-file-error.ts";
import { MoreBytesNeeded, maxHeaderBytes } from "./byte-cursor.ts";
import { type Header, readHeader } from "./read-header.ts";

export type FileHeader = { readonly header: Header; readonly fileBytes: number };

/** Large enough for the headers of most models, so that they are parsed only once. */
const firstBytes = 4 * 1024 * 1024;
const growth = 4;

/** Reads as much of the file as its header needs. Parsing restarts with four times as many bytes until they suffice. */
export async function readFileHeader(path: string): Promise<FileHeader> {
  await using file = await openModel(path);
  const status = await file.stat();
  if (!status.isFile()) throw unreadable("it is not a regular file");
  const fileBytes = status.size;
  const maxBytes = Math.min(fileBytes, maxHeaderBytes);
  for (let bytesToRead = firstBytes; ; ) {
    const bytes = await readStart(file, Math.min(bytesToRead, maxBytes));
    try {
      return { header: readHeader(bytes, fileBytes), fileBytes };
    } catch (error) {
      if (!(error instanceof MoreBytesNeeded)) throw error;
      // A file that shrinks while it is being read would never have enough bytes.
      if (bytes.length < Math.min(bytesToRead, maxBytes)) throw unreadable("it shrank while being read");
      bytesToRead = Math.max(bytesToRead * growth, error.neededBytes);
    }
  }
}

async function openModel(path: string): Promise<FileHandle> {
  try {
    // Opening a pipe would block until its other end opens; O_NONBLOCK opens it, and it is rejected afterwards.
    return await open(path, constants.O_RDONLY | constants.O_NONBLOCK);
  } catch (cause) {
    throw unreadable(cause instanceof Error ? cause.message : String(cause), cause);
  }
}

async function readStart(file: FileHandle, length: number): Promise<Uint8Array> {
  const bytes = Buffer.allocUnsafeSlow(length);
  let filled = 0;
  while (filled < length) {
    const { bytesRead } = await file.read(bytes, filled, length - filled, filled);
    if (bytesRead === 0) break;
    filled += bytesRead;
  }
  return bytes.subarray(0, filled);
}

function unreadable(reason: string, cause?: unknown): ModelFileError {
  return new ModelFileError(
    { kind: "unreadable", location: {}, message: `Cannot read the model file: ${reason}` },
    { cause },
  );
}
