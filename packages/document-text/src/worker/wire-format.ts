import type { Writable } from "node:stream";

/**
 * A request is the length of the input, four bytes, and the input. A response is one byte, an index into these
 * statuses, and in the same way the output, which is empty for a failure.
 */
const statuses = [
  "text",
  "cut-text",
  "pdf-invalid",
  "pdf-encrypted",
  "pdf-without-text",
  "pdf-too-many-pages",
  "pdf-out-of-memory",
  "png",
  "image-invalid",
] as const;

export type JobStatus = (typeof statuses)[number];

export type JobResponse = { readonly status: JobStatus; readonly content: Buffer };

export const requestHeaderBytes = 4;
export const responseHeaderBytes = 5;

export function writeRequest(stream: Writable, input: Uint8Array): void {
  const header = Buffer.alloc(requestHeaderBytes);
  header.writeUInt32LE(input.length);
  stream.write(header);
  stream.end(input);
}

export function encodeResponse({ status, content }: JobResponse): Buffer {
  const header = Buffer.alloc(responseHeaderBytes);
  header.writeUInt8(statuses.indexOf(status));
  header.writeUInt32LE(content.length, 1);
  return Buffer.concat([header, content]);
}

export type ResponseHeader = { readonly status: JobStatus; readonly length: number };

/** Undefined for a status that does not exist. */
export function readHeader(bytes: Buffer): ResponseHeader | undefined {
  const status = statuses[bytes.readUInt8(0)];
  return status === undefined ? undefined : { status, length: bytes.readUInt32LE(1) };
}
