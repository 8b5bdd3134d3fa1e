import type { ImageSize, Problem } from "./image-size.ts";

const headerBytes = 13;
/** Length, kind and checksum stand around the content of every chunk. */
const frameBytes = 12;

/** Chunk by chunk to the end: what says that there is animation may stand anywhere before the pixels. */
export function readPngHead(bytes: Buffer): ImageSize | Problem {
  if (bytes.readUInt32BE(8) !== headerBytes || kindAt(bytes, 8) !== "IHDR") {
    return { problem: "is a PNG without a header; save it again" };
  }
  const width = bytes.readUInt32BE(16);
  const height = bytes.readUInt32BE(20);
  const isDeep = bytes.readUInt8(24) > 8;
  for (let at = 8; ; at += frameBytes + bytes.readUInt32BE(at)) {
    const kind = kindAt(bytes, at);
    if (kind === "acTL") return { problem: "is an animated PNG; send one of its pictures" };
    if (kind === "IEND") return { width, height, weight: width * height * (isDeep ? 2 : 1) };
  }
}

function kindAt(bytes: Buffer, at: number): string {
  bytes.readUInt32BE(at + 4); // throws where the bytes end
  return bytes.toString("latin1", at + 4, at + 8);
}
