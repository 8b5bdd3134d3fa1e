import type { ImageSize, RejectedImage } from "./image-size.ts";

const extended = { animation: 0x02, headerBytes: 10 } as const;
/** Each side has fourteen bits. */
const sideBits = 0x3fff;
const losslessSignature = 0x2f;
const lossyStartCode = 0x9d012a;
/** One that decodes to more does not fit into the memory of the process that converts it. */
const maxPixels = 4096 ** 2;

/** The first chunk says which kind it is, and contains the size. */
export function readWebpHeader(bytes: Buffer): ImageSize | RejectedImage {
  const size = readSize(bytes);
  if ("reason" in size) return size;
  const { width, height } = size;
  if (width * height <= maxPixels) return { ...size, weight: width * height };
  return {
    reason: `is ${width} × ${height} pixels; a WebP may have at most ${Math.floor(maxPixels / 1e6)} million`,
  };
}

type Size = Pick<ImageSize, "width" | "height">;

function readSize(bytes: Buffer): Size | RejectedImage {
  const content = 20;
  switch (bytes.toString("latin1", 12, 16)) {
    case "VP8X":
      if ((bytes.readUInt8(content) & extended.animation) !== 0) {
        return { reason: "is an animated WebP; send a single frame" };
      }
      return { width: 1 + bytes.readUIntLE(content + 4, 3), height: 1 + bytes.readUIntLE(content + 7, 3) };
    case "VP8 ":
      if (bytes.readUIntBE(content + 3, 3) !== lossyStartCode) return damaged;
      return {
        width: bytes.readUInt16LE(content + 6) & sideBits,
        height: bytes.readUInt16LE(content + 8) & sideBits,
      };
    case "VP8L": {
      if (bytes.readUInt8(content) !== losslessSignature) return damaged;
      const packed = bytes.readUInt32LE(content + 1);
      return { width: 1 + (packed & sideBits), height: 1 + ((packed >>> 14) & sideBits) };
    }
    default:
      return damaged;
  }
}

const damaged: RejectedImage = { reason: "is a damaged WebP; save it again" };
