import type { ImageSize, RejectedImage } from "./image-size.ts";

/** The header of OS/2 has 16-bit sizes; all later headers start alike. */
const coreHeaderSize = 12;
const infoHeaderSizes = new Set([40, 52, 56, 108, 124]);
/** Uncompressed, without and with color masks. */
const uncompressed = new Set([0, 3]);
const bitDepths = new Set([1, 4, 8, 16, 24, 32]);

export function readBmpHeader(bytes: Buffer): ImageSize | RejectedImage {
  const header = bytes.readUInt32LE(14);
  const isCore = header === coreHeaderSize;
  const width = isCore ? bytes.readUInt16LE(18) : bytes.readInt32LE(18);
  // Negative if rows are stored top to bottom.
  const height = Math.abs(isCore ? bytes.readUInt16LE(20) : bytes.readInt32LE(22));
  const bits = bytes.readUInt16LE(isCore ? 24 : 28);
  if (!(isCore || infoHeaderSizes.has(header)) || !bitDepths.has(bits)) {
    return { reason: "is a damaged BMP; save it again" };
  }
  if (!isCore && !uncompressed.has(bytes.readUInt32LE(30))) {
    return { reason: "is a compressed BMP, which is not supported; send it as PNG" };
  }
  const rowBytes = Math.ceil((width * bits) / 32) * 4;
  // A decoder would fill in missing rows, so that a 54-byte file could cost as much as a large image.
  if (bytes.readUInt32LE(10) + rowBytes * height > bytes.length) throw new RangeError("Rows are missing");
  return { width, height, weight: width * height };
}
