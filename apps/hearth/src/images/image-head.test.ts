import { describe, expect, test } from "vitest";
import { readImageHead } from "./image-head.ts";
import {
  drawBmp,
  drawGif,
  drawJpeg,
  drawPng,
  drawWebp,
  jpegSegment,
  pngChunk,
  pngSign,
  smallestWebp,
  webpChunk,
} from "./test/draw-images.ts";

const size = { width: 80, height: 60 };
const kinds = {
  "image/png": drawPng,
  "image/jpeg": drawJpeg,
  "image/gif": drawGif,
  "image/bmp": drawBmp,
} as const;

const problemOf = (bytes: Buffer): string => {
  const head = readImageHead(bytes);
  return "problem" in head ? head.problem : "";
};

describe.each(Object.entries(kinds))("%s", (mediaType, draw) => {
  test("is known by its first bytes, and its head tells its size", () => {
    expect(readImageHead(draw(size))).toEqual({ mediaType, ...size, weight: 4800 });
  });

  test("is refused without a single point, and answered with one", () => {
    expect(problemOf(draw({ width: 0, height: 5 }))).toContain("without a single point");
    expect(problemOf(draw({ width: 5, height: 0 }))).toContain("without a single point");
    expect(problemOf(draw({ width: 1, height: 1 }))).toBe("");
  });

  test("is refused when it is far longer than wide", () => {
    expect(problemOf(draw({ width: 201, height: 1 }))).toContain("200 times as long as wide");
    expect(problemOf(draw({ width: 1, height: 200 }))).toBe("");
  });

  test("is refused when its head was cut short", () => {
    const whole = draw(size);
    for (let length = 12; length < 24; length += 1) {
      expect(problemOf(whole.subarray(0, length))).not.toBe("");
    }
  });
});

/** The size in a head, with nothing behind it that a decoder could fill. */
const pngOf = (width: number, height: number, bitDepth = 8): Buffer => {
  const header = Buffer.alloc(13);
  header.writeUInt32BE(width, 0);
  header.writeUInt32BE(height, 4);
  header.set([bitDepth, 2], 8);
  return Buffer.concat([pngSign, pngChunk("IHDR", header), pngChunk("IEND", Buffer.alloc(0))]);
};

test.each([
  [16_384, 2441, ""],
  [16_385, 2000, "make it smaller"],
  [8000, 5000, ""],
  [8000, 5001, "make it smaller"],
  [65_535, 65_535, "make it smaller"],
  [4_294_967_295, 4_294_967_295, "make it smaller"],
])("an image of %d by %d points: %j", (width, height, expected) => {
  expect(problemOf(pngOf(width, height))).toContain(expected);
  expect(problemOf(pngOf(width, height)) === "").toBe(expected === "");
});

test("16 bits a channel count twice", () => {
  expect(problemOf(pngOf(5000, 4000, 16))).toBe("");
  expect(problemOf(pngOf(5000, 4001, 16))).toContain("half of that with 16 bits");
});

test("what moves is refused, and a still of the same kind is not", () => {
  const frames = pngChunk("acTL", Buffer.from([0, 0, 0, 2, 0, 0, 0, 0]));
  expect(problemOf(drawPng({ ...size, before: [frames] }))).toContain("animated PNG");
  expect(problemOf(drawPng({ ...size, before: [pngChunk("tEXt", Buffer.from("acTL"))] }))).toBe("");
  expect(problemOf(drawGif({ ...size, frames: 2 }))).toContain("animated GIF");
  expect(problemOf(drawGif({ ...size, frames: 0 }))).toContain("without a picture");
});

test("an image of a kind that no engine reads is refused by the name of its kind", () => {
  expect(problemOf(smallestWebp)).toContain("WebP");
  expect(problemOf(drawWebp([webpChunk("ANIM", Buffer.alloc(6))]))).toContain("WebP");
  expect(problemOf(Buffer.from("\0\0\0\x20ftypheic", "latin1"))).toContain("HEIC or AVIF");
  expect(problemOf(Buffer.from("II*\0\b\0\0\0", "latin1"))).toContain("TIFF");
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
])("%j is no image", (text) => {
  expect(problemOf(Buffer.from(text, "latin1"))).toContain("is no image that is known here");
});

describe("a JPEG's size", () => {
  test("is that of its frame, not of a preview inside a segment before it", () => {
    const preview = jpegSegment(0xe1, [...drawJpeg({ width: 16, height: 16 })]);
    expect(readImageHead(drawJpeg({ ...size, before: [preview] }))).toMatchObject(size);
  });

  test("is found behind fill bytes and what stands between segments", () => {
    const filled = Buffer.from([0x00, 0x12, 0xff, 0xff]);
    expect(readImageHead(drawJpeg({ ...size, before: [jpegSegment(0xfe, [1]), filled] }))).toMatchObject(
      size,
    );
  });

  test("is nowhere when the picture begins before a frame does", () => {
    const scan = jpegSegment(0xda, [1, 1, 0, 0, 63, 0]);
    expect(problemOf(drawJpeg({ ...size, before: [scan] }))).toContain("without a header");
  });
});

describe("a BMP", () => {
  test("may go from top to bottom", () => {
    const image = drawBmp(size);
    image.writeInt32LE(-60, 22);
    expect(readImageHead(image)).toMatchObject(size);
  });

  test("of 54 bytes does not pass for a large one", () => {
    const head = drawBmp({ width: 6000, height: 6000 }).subarray(0, 54);
    expect(problemOf(head)).toContain("cut short");
  });

  test("that is packed, or of a depth that there is not, is refused", () => {
    const packed = drawBmp(size);
    packed.writeUInt32LE(1, 30);
    expect(problemOf(packed)).toContain("packed BMP");
    const depthless = drawBmp(size);
    depthless.writeUInt16LE(0, 28);
    expect(problemOf(depthless)).toContain("damaged BMP");
  });
});

test("a PNG whose chunks end too early, or that begins with another one, is refused", () => {
  const whole = drawPng(size);
  expect(problemOf(whole.subarray(0, -12))).toContain("cut short");
  const other = Buffer.concat([pngSign, pngChunk("IDAT", Buffer.alloc(13)), whole.subarray(8)]);
  expect(problemOf(other)).toContain("without a header");
});
