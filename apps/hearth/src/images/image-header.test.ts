import { describe, expect, test } from "vitest";
import { readImageHeader } from "./image-header.ts";
import {
  drawBmp,
  drawGif,
  drawJpeg,
  drawPng,
  drawWebp,
  jpegSegment,
  pngChunk,
  pngSignature,
  smallestWebp,
  webpChunk,
} from "./test/draw-images.ts";

const size = { width: 80, height: 60 };
const formats = {
  "image/png": drawPng,
  "image/jpeg": drawJpeg,
  "image/gif": drawGif,
  "image/bmp": drawBmp,
} as const;

const reasonOf = (bytes: Buffer): string => {
  const header = readImageHeader(bytes);
  return "reason" in header ? header.reason : "";
};

describe.each(Object.entries(formats))("%s", (mediaType, draw) => {
  test("is detected by its first bytes, and its header contains its size", () => {
    expect(readImageHeader(draw(size))).toEqual({ mediaType, ...size, weight: 4800 });
  });

  test("is rejected without pixels, and accepted with one pixel", () => {
    expect(reasonOf(draw({ width: 0, height: 5 }))).toContain("without pixels");
    expect(reasonOf(draw({ width: 5, height: 0 }))).toContain("without pixels");
    expect(reasonOf(draw({ width: 1, height: 1 }))).toBe("");
  });

  test("is rejected if its aspect ratio is too large", () => {
    expect(reasonOf(draw({ width: 201, height: 1 }))).toContain("at most 200:1");
    expect(reasonOf(draw({ width: 1, height: 200 }))).toBe("");
  });

  test("is rejected if its header is truncated", () => {
    const complete = draw(size);
    for (let length = 12; length < 24; length += 1) {
      expect(reasonOf(complete.subarray(0, length))).not.toBe("");
    }
  });
});

/** A header without pixel data. */
const pngOf = (width: number, height: number, bitDepth = 8): Buffer => {
  const header = Buffer.alloc(13);
  header.writeUInt32BE(width, 0);
  header.writeUInt32BE(height, 4);
  header.set([bitDepth, 2], 8);
  return Buffer.concat([pngSignature, pngChunk("IHDR", header), pngChunk("IEND", Buffer.alloc(0))]);
};

test.each([
  [16_384, 2441, ""],
  [16_385, 2000, "the maximum is"],
  [8000, 5000, ""],
  [8000, 5001, "the maximum is"],
  [65_535, 65_535, "the maximum is"],
  [4_294_967_295, 4_294_967_295, "the maximum is"],
])("an image of %d × %d pixels: %j", (width, height, expected) => {
  expect(reasonOf(pngOf(width, height))).toContain(expected);
  expect(reasonOf(pngOf(width, height)) === "").toBe(expected === "");
});

test("16 bits per channel count twice", () => {
  expect(reasonOf(pngOf(5000, 4000, 16))).toBe("");
  expect(reasonOf(pngOf(5000, 4001, 16))).toContain("half of that with 16 bits");
});

test("animated images are rejected, still images of the same format are not", () => {
  const frames = pngChunk("acTL", Buffer.from([0, 0, 0, 2, 0, 0, 0, 0]));
  expect(reasonOf(drawPng({ ...size, before: [frames] }))).toContain("animated PNG");
  expect(reasonOf(drawPng({ ...size, before: [pngChunk("tEXt", Buffer.from("acTL"))] }))).toBe("");
  expect(reasonOf(drawGif({ ...size, frames: 2 }))).toContain("animated GIF");
  expect(reasonOf(drawGif({ ...size, frames: 0 }))).toContain("without a frame");
});

test("an image in an unsupported format is rejected with the name of the format", () => {
  expect(reasonOf(Buffer.from("\0\0\0\x20ftypheic", "latin1"))).toContain("HEIC or AVIF");
  expect(reasonOf(Buffer.from("II*\0\b\0\0\0", "latin1"))).toContain("TIFF");
});

test.each([
  "",
  "P6\n1 1\n255\nabc",
  "8BPS",
  "RIFF\0\0\0\0WAVEfmt ",
  "ID3\x03",
  "fLaC",
  "%PDF-1.7",
  "<svg/>",
  "GIF88a",
])("%j is not an image", (text) => {
  expect(reasonOf(Buffer.from(text, "latin1"))).toContain("is not a supported image");
});

describe("a JPEG's size", () => {
  test("is that of its frame, not of a preview in an earlier segment", () => {
    const preview = jpegSegment(0xe1, [...drawJpeg({ width: 16, height: 16 })]);
    expect(readImageHeader(drawJpeg({ ...size, before: [preview] }))).toMatchObject(size);
  });

  test("is found after fill bytes and bytes between segments", () => {
    const filled = Buffer.from([0x00, 0x12, 0xff, 0xff]);
    expect(readImageHeader(drawJpeg({ ...size, before: [jpegSegment(0xfe, [1]), filled] }))).toMatchObject(
      size,
    );
  });

  test("is missing if the scan starts before a frame", () => {
    const scan = jpegSegment(0xda, [1, 1, 0, 0, 63, 0]);
    expect(reasonOf(drawJpeg({ ...size, before: [scan] }))).toContain("without a header");
  });
});

describe("a BMP", () => {
  test("may be stored top to bottom", () => {
    const image = drawBmp(size);
    image.writeInt32LE(-60, 22);
    expect(readImageHeader(image)).toMatchObject(size);
  });

  test("of 54 bytes is not accepted as a large image", () => {
    const header = drawBmp({ width: 6000, height: 6000 }).subarray(0, 54);
    expect(reasonOf(header)).toContain("truncated");
  });

  test("that is compressed, or has an invalid bit depth, is rejected", () => {
    const compressed = drawBmp(size);
    compressed.writeUInt32LE(1, 30);
    expect(reasonOf(compressed)).toContain("compressed BMP");
    const invalidDepth = drawBmp(size);
    invalidDepth.writeUInt16LE(0, 28);
    expect(reasonOf(invalidDepth)).toContain("damaged BMP");
  });
});

test("a PNG whose chunks are truncated, or that starts with another chunk, is rejected", () => {
  const complete = drawPng(size);
  expect(reasonOf(complete.subarray(0, -12))).toContain("truncated");
  const other = Buffer.concat([pngSignature, pngChunk("IDAT", Buffer.alloc(13)), complete.subarray(8)]);
  expect(reasonOf(other)).toContain("without a header");
});

/** Flags, and each side less one in three bytes. */
const extendedWebp = (flags: number, width: number, height: number): Buffer => {
  const content = Buffer.alloc(10);
  content.writeUInt8(flags);
  content.writeUIntLE(width - 1, 4, 3);
  content.writeUIntLE(height - 1, 7, 3);
  return drawWebp([webpChunk("VP8X", content)]);
};
const losslessWebp = (width: number, height: number): Buffer => {
  const content = Buffer.alloc(5, 0x2f);
  content.writeUInt32LE((width - 1) | ((height - 1) << 14), 1);
  return drawWebp([webpChunk("VP8L", content)]);
};

describe("a WebP", () => {
  test("has its size in the first chunk, of any kind", () => {
    const mediaType = "image/webp";
    expect(readImageHeader(smallestWebp)).toEqual({ mediaType, width: 1, height: 1, weight: 1 });
    expect(readImageHeader(losslessWebp(80, 60))).toEqual({ mediaType, ...size, weight: 4800 });
    expect(readImageHeader(extendedWebp(0x10, 80, 60))).toEqual({ mediaType, ...size, weight: 4800 });
  });

  test("is rejected if it is animated, and a still one is not", () => {
    expect(reasonOf(extendedWebp(0x02, 80, 60))).toContain("animated WebP");
    expect(reasonOf(extendedWebp(0x00, 80, 60))).toBe("");
  });

  test("is rejected if it has more pixels than its process can decode", () => {
    expect(reasonOf(extendedWebp(0, 4096, 4096))).toBe("");
    expect(reasonOf(extendedWebp(0, 4097, 4096))).toContain("at most 16 million");
    expect(reasonOf(extendedWebp(0, 2 ** 24, 2 ** 24))).toContain("at most 16 million");
  });

  test("is rejected if its first chunk is another one, damaged or truncated", () => {
    expect(reasonOf(drawWebp([webpChunk("ANIM", Buffer.alloc(6))]))).toContain("damaged WebP");
    expect(reasonOf(drawWebp([webpChunk("VP8 ", Buffer.alloc(10))]))).toContain("damaged WebP");
    expect(reasonOf(drawWebp([webpChunk("VP8L", Buffer.alloc(6))]))).toContain("damaged WebP");
    expect(reasonOf(smallestWebp.subarray(0, 25))).toContain("truncated");
  });
});
