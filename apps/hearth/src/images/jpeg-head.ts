import type { ImageSize, Problem } from "./image-size.ts";

/** Frames of every method of packing; the three others in this range are tables. */
const frames = new Set([0xc0, 0xc1, 0xc2, 0xc3, 0xc5, 0xc6, 0xc7, 0xc9, 0xca, 0xcb, 0xcd, 0xce, 0xcf]);
const scan = 0xda;
const end = 0xd9;

/** Segment by segment to the frame, which holds the size. */
export function readJpegHead(bytes: Buffer): ImageSize | Problem {
  let at = 2;
  for (;;) {
    // Decoders skip what stands between segments, so we do; any number of 0xff may come before a marker.
    while (bytes.readUInt8(at) !== 0xff) at += 1;
    while (bytes.readUInt8(at) === 0xff) at += 1;
    const marker = bytes.readUInt8(at);
    at += 1;
    if (frames.has(marker)) {
      const [height, width] = [bytes.readUInt16BE(at + 3), bytes.readUInt16BE(at + 5)];
      return { width, height, weight: width * height };
    }
    if (marker === scan || marker === end) return { problem: "is a JPEG without a header; save it again" };
    if (!standsAlone(marker)) at += bytes.readUInt16BE(at);
  }
}

function standsAlone(marker: number): boolean {
  return marker <= 0x01 || (marker >= 0xd0 && marker <= 0xd8);
}
