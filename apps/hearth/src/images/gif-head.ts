import type { ImageSize, Problem } from "./image-size.ts";

const [picture, extension, end] = [0x2c, 0x21, 0x3b];

/** Block by block: the size stands first, and how many pictures there are is known at the end. */
export function readGifHead(bytes: Buffer): ImageSize | Problem {
  const [width, height] = [bytes.readUInt16LE(6), bytes.readUInt16LE(8)];
  let pictures = 0;
  let at = 13 + colourTableBytes(bytes.readUInt8(10));
  for (;;) {
    const block = bytes.readUInt8(at);
    if (block === end) break;
    if (block === picture) {
      pictures += 1;
      // Its place, its size, its own table of colours, and the width of a code.
      at = skipParts(bytes, at + 11 + colourTableBytes(bytes.readUInt8(at + 9)));
    } else if (block === extension) at = skipParts(bytes, at + 2);
    else return { problem: "is a damaged GIF; save it again" };
    if (pictures > 1) return { problem: "is an animated GIF; send one of its pictures" };
  }
  if (pictures === 0) return { problem: "is a GIF without a picture; send one that shows something" };
  return { width, height, weight: width * height };
}

function colourTableBytes(flags: number): number {
  return (flags & 0x80) === 0 ? 0 : 3 * 2 ** ((flags & 0x07) + 1);
}

/** Parts of up to 255 bytes, each after its length; an empty one is the last. */
function skipParts(bytes: Buffer, start: number): number {
  let at = start;
  for (let length = bytes.readUInt8(at); length > 0; length = bytes.readUInt8(at)) at += length + 1;
  return at + 1;
}
