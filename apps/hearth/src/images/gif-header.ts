import type { ImageSize, RejectedImage } from "./image-size.ts";

const [frame, extension, trailer] = [0x2c, 0x21, 0x3b];

/** Scans all blocks to count the frames; the size is at the beginning. */
export function readGifHeader(bytes: Buffer): ImageSize | RejectedImage {
  const [width, height] = [bytes.readUInt16LE(6), bytes.readUInt16LE(8)];
  let frames = 0;
  let at = 13 + colorTableBytes(bytes.readUInt8(10));
  for (;;) {
    const block = bytes.readUInt8(at);
    if (block === trailer) break;
    if (block === frame) {
      frames += 1;
      // Skips position, size, color table and code width.
      at = skipSubBlocks(bytes, at + 11 + colorTableBytes(bytes.readUInt8(at + 9)));
    } else if (block === extension) at = skipSubBlocks(bytes, at + 2);
    else return { reason: "is a damaged GIF; save it again" };
    if (frames > 1) return { reason: "is an animated GIF; send a single frame" };
  }
  if (frames === 0) return { reason: "is a GIF without a frame; send another image" };
  return { width, height, weight: width * height };
}

function colorTableBytes(flags: number): number {
  return (flags & 0x80) === 0 ? 0 : 3 * 2 ** ((flags & 0x07) + 1);
}

/** Length-prefixed sub-blocks of up to 255 bytes; an empty one is the last. */
function skipSubBlocks(bytes: Buffer, start: number): number {
  let at = start;
  for (let length = bytes.readUInt8(at); length > 0; length = bytes.readUInt8(at)) at += length + 1;
  return at + 1;
}
