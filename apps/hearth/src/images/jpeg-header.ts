import type { ImageSize, RejectedImage } from "./image-size.ts";

/** Start-of-frame markers of every coding; the three others in this range are tables. */
const frameMarkers = new Set([0xc0, 0xc1, 0xc2, 0xc3, 0xc5, 0xc6, 0xc7, 0xc9, 0xca, 0xcb, 0xcd, 0xce, 0xcf]);
const scan = 0xda;
const end = 0xd9;

/** Scans the segments up to the frame header, which contains the size. */
export function readJpegHeader(bytes: Buffer): ImageSize | RejectedImage {
  let at = 2;
  for (;;) {
    // Like decoders, skips bytes between segments and any number of 0xff fill bytes before a marker.
    while (bytes.readUInt8(at) !== 0xff) at += 1;
    while (bytes.readUInt8(at) === 0xff) at += 1;
    const marker = bytes.readUInt8(at);
    at += 1;
    if (frameMarkers.has(marker)) {
      const [height, width] = [bytes.readUInt16BE(at + 3), bytes.readUInt16BE(at + 5)];
      return { width, height, weight: width * height };
    }
    if (marker === scan || marker === end) return { reason: "is a JPEG without a header; save it again" };
    if (!hasNoLength(marker)) at += bytes.readUInt16BE(at);
  }
}

function hasNoLength(marker: number): boolean {
  return marker <= 0x01 || (marker >= 0xd0 && marker <= 0xd8);
}
