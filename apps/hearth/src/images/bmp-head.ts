import type { ImageSize, Problem } from "./image-size.ts";

/** The oldest header has sizes of two bytes; all later ones begin alike. */
const oldestHeader = 12;
const laterHeaders = new Set([40, 52, 56, 108, 124]);
/** Plain pixels, and plain pixels with masks for their colours. */
const plainPackings = new Set([0, 3]);
const depths = new Set([1, 4, 8, 16, 24, 32]);

export function readBmpHead(bytes: Buffer): ImageSize | Problem {
  const header = bytes.readUInt32LE(14);
  const isOldest = header === oldestHeader;
  const width = isOldest ? bytes.readUInt16LE(18) : bytes.readInt32LE(18);
  // Below zero when the rows go from top to bottom.
  const height = Math.abs(isOldest ? bytes.readUInt16LE(20) : bytes.readInt32LE(22));
  const bits = bytes.readUInt16LE(isOldest ? 24 : 28);
  if (!(isOldest || laterHeaders.has(header)) || !depths.has(bits)) {
    return { problem: "is a damaged BMP; save it again" };
  }
  if (!isOldest && !plainPackings.has(bytes.readUInt32LE(30))) {
    return { problem: "is a packed BMP, which is not read; send it as PNG" };
  }
  const rowBytes = Math.ceil((width * bits) / 32) * 4;
  // A decoder would make up what is missing, and a head of 54 bytes would cost as much as a whole image.
  if (bytes.readUInt32LE(10) + rowBytes * height > bytes.length) throw new RangeError("The rows are missing");
  return { width, height, weight: width * height };
}
