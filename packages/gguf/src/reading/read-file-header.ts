import { constants } from "node:fs";
import { type FileHandle, open } from "node:fs/promises";
import { ModelFileError } from "../model-file-error.ts";
import { MoreBytesNeeded, maxHeaderBytes } from "./byte-cursor.ts";
import { type Header, readHeader } from "./read-header.ts";

export type FileHeader = { readonly header: Header; readonly fileBytes: number };

/** Holds the headers of most models, so that they are parsed once. */
const firstBytes = 4 * 1024 * 1024;
const growth = 4;

/** Reads as much of the file as its header needs. The parse starts over with more bytes, each time four times as many. */
export async function readFileHeader(path: string): Promise<FileHeader> {
  await using file = await openModel(path);
  const status = await file.stat();
  if (!status.isFile()) throw unreadable("it is not a regular file");
  const fileBytes = status.size;
  const most = Math.min(fileBytes, maxHeaderBytes);
  for (let wanted = firstBytes; ; ) {
    const bytes = await readStart(file, Math.min(wanted, most));
    try {
      return { header: readHeader(bytes, fileBytes), fileBytes };
    } catch (problem) {
      if (!(problem instanceof MoreBytesNeeded)) throw problem;
      // A file that shrinks while it is read would never have enough.
      if (bytes.length < Math.min(wanted, most)) throw unreadable("it became shorter while it was read");
      wanted = Math.max(wanted * growth, problem.neededBytes);
    }
  }
}

async function openModel(path: string): Promise<FileHandle> {
  try {
    // Opening a pipe would wait for its other end; without blocking it is opened and then refused.
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
    { kind: "unreadable", place: {}, sentence: `Cannot read the model file: ${reason}` },
    { cause },
  );
}
