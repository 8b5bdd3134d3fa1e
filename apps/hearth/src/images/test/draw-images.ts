/**
 * @module
 * Single-color images in every supported format, written byte by byte so that tests can corrupt any of them.
 * Any decoder reads the files, unless the options make them invalid.
 * Imported by the tests of `images/` and by `conformance/images/`.
 */
import { crc32, deflateSync } from "node:zlib";

export type Drawing = {
  readonly width: number;
  readonly height: number;
  /** Red, green, blue. */
  readonly colour?: readonly [number, number, number];
};

const red = [255, 0, 0] as const;

export type PngOptions = Drawing & {
  readonly bitDepth?: 1 | 2 | 4 | 8 | 16;
  /** PNG's color type: 0 grayscale, 2 RGB, 3 palette, 4 grayscale with alpha, 6 RGB with alpha. */
  readonly colourType?: 0 | 2 | 3 | 4 | 6;
  /** Chunks between the header and the pixels. */
  readonly before?: readonly Buffer[];
  /** 0 stores the pixels uncompressed. */
  readonly packing?: number;
};

const channels = { 0: 1, 2: 3, 3: 1, 4: 2, 6: 4 } as const;

export function drawPng(options: PngOptions): Buffer {
  const { width, height, bitDepth = 8, colourType = 2, before = [], packing = 6 } = options;
  const header = Buffer.alloc(13);
  header.writeUInt32BE(width, 0);
  header.writeUInt32BE(height, 4);
  header.set([bitDepth, colourType], 8);
  // Each row starts with its filter type, 0 for none.
  const row = Buffer.alloc(1 + Math.ceil((width * channels[colourType] * bitDepth) / 8));
  const isColoured = bitDepth === 8 && colourType === 2;
  if (isColoured) row.fill(Buffer.from(options.colour ?? red), 1);
  const pixels = deflateSync(Buffer.concat(Array.from({ length: height }, () => row)), { level: packing });
  const palette = colourType === 3 ? [pngChunk("PLTE", Buffer.from(red))] : [];
  return Buffer.concat([
    pngSignature,
    pngChunk("IHDR", header),
    ...palette,
    ...before,
    pngChunk("IDAT", pixels),
    pngChunk("IEND", Buffer.alloc(0)),
  ]);
}

export const pngSignature = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]);

export function pngChunk(kind: string, content: Buffer): Buffer {
  const body = Buffer.concat([Buffer.from(kind, "latin1"), content]);
  const ends = Buffer.alloc(8);
  ends.writeUInt32BE(content.length, 0);
  ends.writeUInt32BE(crc32(body), 4);
  return Buffer.concat([ends.subarray(0, 4), body, ends.subarray(4)]);
}

export type JpegOptions = Drawing & {
  /** 1: grayscale, 3: YCbCr, 4: CMYK. */
  readonly components?: 1 | 3 | 4;
  /** Segments between the start-of-image marker and the frame header. */
  readonly before?: readonly Buffer[];
  /** The start-of-frame marker; 0xc0, baseline, by default. */
  readonly frame?: number;
};

export function drawJpeg(options: JpegOptions): Buffer {
  const { width, height, components = 3, before = [], frame = 0xc0 } = options;
  const ids = Array.from({ length: components }, (_, index) => index + 1);
  const size = Buffer.alloc(4);
  size.writeUInt16BE(height, 0);
  size.writeUInt16BE(width, 2);
  // Huffman tables: nine DC difference sizes with four-bit codes, and end-of-block as the only AC code, with one bit.
  const differences = [0x00, 0, 0, 0, 9, ...Array(12).fill(0), 0, 1, 2, 3, 4, 5, 6, 7, 8];
  const ends = [0x10, 1, ...Array(15).fill(0), 0];
  return Buffer.concat([
    Buffer.from([0xff, 0xd8]),
    ...before,
    jpegSegment(0xdb, [0, ...Array(64).fill(8)]),
    jpegSegment(frame, [8, ...size, components, ...ids.flatMap((id) => [id, 0x11, 0])]),
    jpegSegment(0xc4, differences),
    jpegSegment(0xc4, ends),
    jpegSegment(0xda, [components, ...ids.flatMap((id) => [id, 0x00]), 0, 63, 0]),
    jpegPixels(options, components),
    Buffer.from([0xff, 0xd9]),
  ]);
}

export function jpegSegment(marker: number, content: readonly number[]): Buffer {
  const head = Buffer.from([0xff, marker, 0, 0]);
  head.writeUInt16BE(content.length + 2, 2);
  return Buffer.concat([head, Buffer.from(content)]);
}

/** All blocks after the first have a DC difference of zero, encoded as five zero bits per component. */
function jpegPixels({ width, height, colour = red }: Drawing, components: number): Buffer {
  const blocks = Math.ceil(width / 8) * Math.ceil(height / 8);
  const [brightness] = colour;
  // Levels are relative to 128; the chroma components stay at 128.
  const level = Math.max(1, Math.min(127, Math.abs(brightness - 128)));
  const bits = level.toString(2);
  const first = `${bits.length.toString(2).padStart(4, "0")}${bits}0`;
  const head = first + "00000".repeat(components - 1);
  const length = head.length + (blocks - 1) * components * 5;
  const bytes = Buffer.alloc(Math.ceil(length / 8));
  for (let index = head.indexOf("1"); index !== -1; index = head.indexOf("1", index + 1)) {
    bytes[index >> 3] = (bytes[index >> 3] ?? 0) | (0x80 >> (index & 7));
  }
  return bytes;
}

export type GifOptions = Drawing & { readonly frames?: number; readonly version?: string };

export function drawGif({ width, height, colour = red, frames = 1, version = "GIF89a" }: GifOptions): Buffer {
  const size = Buffer.alloc(4);
  size.writeUInt16LE(width, 0);
  size.writeUInt16LE(height, 2);
  // A table of 128 colors, of which only the first is used.
  const table = Buffer.alloc(128 * 3);
  table.set(colour);
  const frame = Buffer.concat([
    Buffer.from([0x2c, 0, 0, 0, 0]),
    size,
    Buffer.from([0, 7]),
    gifBlocks(gifCodes(width * height)),
  ]);
  return Buffer.concat([
    Buffer.from(version, "latin1"),
    size,
    Buffer.from([0xf6, 0, 0]),
    table,
    ...Array.from({ length: frames }, () => frame),
    Buffer.from([0x3b]),
  ]);
}

/** The code table is cleared before it would need a ninth bit, so that every code is one byte. */
function gifCodes(pixels: number): Buffer {
  const [clear, end] = [128, 129];
  const run = Buffer.concat([Buffer.from([clear]), Buffer.alloc(100)]);
  const whole = Array.from({ length: Math.floor(pixels / 100) }, () => run);
  return Buffer.concat([
    ...whole,
    Buffer.from([clear]),
    Buffer.alloc(pixels % 100),
    Buffer.from([clear, end]),
  ]);
}

function gifBlocks(codes: Buffer): Buffer {
  const blocks: Buffer[] = [];
  for (let start = 0; start < codes.length; start += 255) {
    const block = codes.subarray(start, start + 255);
    blocks.push(Buffer.from([block.length]), block);
  }
  return Buffer.concat([...blocks, Buffer.from([0])]);
}

export function drawBmp({ width, height, colour = red }: Drawing): Buffer {
  const row = Buffer.alloc(Math.ceil((width * 3) / 4) * 4);
  row.fill(Buffer.from(colour.toReversed()), 0, width * 3);
  const pixels = Buffer.concat(Array.from({ length: height }, () => row));
  const head = Buffer.alloc(54);
  head.write("BM", "latin1");
  head.writeUInt32LE(54 + pixels.length, 2);
  head.writeUInt32LE(54, 10);
  head.writeUInt32LE(40, 14);
  head.writeInt32LE(width, 18);
  head.writeInt32LE(height, 22);
  head.writeUInt16LE(1, 26);
  head.writeUInt16LE(24, 28);
  return Buffer.concat([head, pixels]);
}

/** One pixel, lossy. */
export const smallestWebp = Buffer.from("UklGRiIAAABXRUJQVlA4IBYAAAAwAQCdASoBAAEADsD+JaQAA3AAAAAA", "base64");

export function drawWebp(chunks: readonly Buffer[]): Buffer {
  const content = Buffer.concat(chunks);
  const head = Buffer.from("RIFF\0\0\0\0WEBP", "latin1");
  head.writeUInt32LE(content.length + 4, 4);
  return Buffer.concat([head, content]);
}

export function webpChunk(kind: string, content: Buffer): Buffer {
  const head = Buffer.alloc(8);
  head.write(kind, "latin1");
  head.writeUInt32LE(content.length, 4);
  return Buffer.concat([head, content, Buffer.alloc(content.length % 2)]);
}
