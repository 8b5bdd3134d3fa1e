/**
 * @module
 * The pipe between the server and a worker. Every message is a frame: four bytes of length, then the content. The
 * server's messages are serialized by V8, because they contain bytes of images. A worker runs code that interprets
 * hostile files, so what it writes is JSON, checked against limits and a schema before the server uses it.
 * Imported by the driver and by the worker.
 */
import type { Writable } from "node:stream";

/** The pipe's file descriptor in the worker. */
export const channelDescriptor = 3;

const prefixBytes = 4;
/** Far above the largest message: the vectors of a batch of texts. */
const maxFrameBytes = 64 * 1024 * 1024;

export class FrameError extends Error {
  override readonly name = "FrameError";
}

/** Both parts go out in one write. */
export function writeFrame(stream: Writable, content: Buffer): void {
  const prefix = Buffer.allocUnsafe(prefixBytes);
  prefix.writeUInt32LE(content.length);
  stream.cork();
  stream.write(prefix);
  stream.write(content);
  stream.uncork();
}

/** Cuts a stream into the contents of its frames. */
export class FrameReader {
  #chunks: Buffer[] = [];
  #bytes = 0;

  /** Returns the frames that this chunk completes. Throws FrameError for a length above the limit. */
  push(chunk: Buffer): readonly Buffer[] {
    this.#chunks.push(chunk);
    this.#bytes += chunk.length;
    const frames: Buffer[] = [];
    for (let frame = this.#take(); frame !== undefined; frame = this.#take()) frames.push(frame);
    return frames;
  }

  #take(): Buffer | undefined {
    if (this.#bytes < prefixBytes) return undefined;
    const end = prefixBytes + this.#readLength();
    if (end - prefixBytes > maxFrameBytes) throw new FrameError("frame too long");
    if (this.#bytes < end) return undefined;
    const [only] = this.#chunks;
    const joined = this.#chunks.length === 1 && only !== undefined ? only : Buffer.concat(this.#chunks);
    this.#chunks = joined.length === end ? [] : [joined.subarray(end)];
    this.#bytes -= end;
    return joined.subarray(prefixBytes, end);
  }

  #readLength(): number {
    const [first] = this.#chunks;
    if (first !== undefined && first.length >= prefixBytes) return first.readUInt32LE();
    this.#chunks = [Buffer.concat(this.#chunks)];
    return this.#chunks[0]?.readUInt32LE() ?? 0;
  }
}
