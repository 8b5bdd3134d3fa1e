import type { ImageSize, RejectedImage } from "./image-size.ts";

const headerBytes = 13;
/** Length, type and checksum of a chunk. */
const chunkOverhead = 12;

/** Scans all chunks, because the animation chunk may be anywhere before the pixels. */
export function readPngHeader(bytes: Buffer): ImageSize | RejectedImage {
  if (bytes.readUInt32BE(8) !== headerBytes || chunkTypeAt(bytes, 8) !== "IHDR") {
    return { reason: "is a PNG without a header; save it again" };
  }
  const width = bytes.readUInt32BE(16);
  const height = bytes.readUInt32BE(20);
  const has16BitChannels = bytes.readUInt8(24) > 8;
  for (let at = 8; ; at += chunkOverhead + bytes.readUInt32BE(at)) {
    const type = chunkTypeAt(bytes, at);
    if (type === "acTL") return { reason: "is an animated PNG; send a single frame" };
    if (type === "IEND") return { width, height, weight: width * height * (has16BitChannels ? 2 : 1) };
  }
}

function chunkTypeAt(bytes: Buffer, at: number): string {
  bytes.readUInt32BE(at + 4); // throws at the end of the bytes
  return bytes.toString("latin1", at + 4, at + 8);
}
