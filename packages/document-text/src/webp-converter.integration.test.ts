import { inflateSync } from "node:zlib";
import { chooseSize, recordFigure } from "@hearth-and-keep/figures";
import { expect, test } from "vitest";
import { seededRandom } from "./test/seeded-random.ts";
import { createWebpConverter } from "./webp-converter.ts";

/** 40 × 30 pixels of red 6x, green 8y and blue 128; in those with alpha, 64 from the twentieth column. */
const images = {
  lossy:
    "UklGRsIAAABXRUJQVlA4ILYAAABQBgCdASooAB4APi0Qh0KhoQ6uZgAMAWJagCdMoR2j5B+N34wck2Y6gbwWy4NzmxiUPvjLA4z6kGlL8AD+/5bA+Bc+FrccrA2uH/vGxQyldEK4uDO/eNy6A+PK0PWWfgUf+V9/sNKkc6+9C5VBm76B5mwGPKq6S3rC2PDghObcQ3Ir6iU6bNQBv5ctgs/1HrWiacZ4dxXz3KdzTOcUeWP/BOmsBSO8TP/EXkD3cRvYmi/8dn0AAA==",
  lossless: "UklGRi4AAABXRUJQVlA4TCIAAAAvJ0AHALkyRPQ/dhHR/zAQadsU3r/s4aMxGMCYAKo6UP0X",
  "lossless with alpha": "UklGRjQAAABXRUJQVlA4TCcAAAAvJ0AHELkyRPQ/dhHR/zAQTdtE7v+rx/TUGAzgBE0ASVOlGcDqvwAA",
  "lossy with alpha":
    "UklGRvIAAABXRUJQVlA4WAoAAAAQAAAAJwAAHQAAQUxQSBUAAAABD/Cg/4iIICQg/F/rgQdyRP8DrCEAVlA4ILYAAABQBgCdASooAB4APi0Qh0KhoQ6uZgAMAWJagCdMoR2j5B+N34wck2Y6gbwWy4NzmxiUPvjLA4z6kGlL8AD+/5bA+Bc+FrccrA2uH/vGxQyldEK4uDO/eNy6A+PK0PWWfgUf+V9/sNKkc6+9C5VBm76B5mwGPKq6S3rC2PDghObcQ3Ir6iU6bNQBv5ctgs/1HrWiacZ4dxXz3KdzTOcUeWP/BOmsBSO8TP/EXkD3cRvYmi/8dn0AAA==",
} as const;

const converter = createWebpConverter();
const { signal } = new AbortController();
const hostileCount = chooseSize({ ci: 8, show: 40, nightly: 200 });

/** Reads what the converter writes: one compressed block of rows that contain differences. */
function pixelAt(png: Buffer, x: number, y: number): readonly number[] {
  const width = png.readUInt32BE(16);
  const channels = png.readUInt8(25) === 6 ? 4 : 3;
  const rows = inflateSync(png.subarray(41, 41 + png.readUInt32BE(33)));
  const start = y * (1 + width * channels) + 1;
  expect(rows[start - 1]).toBe(1);
  const value = (channel: number): number => {
    let sum = 0;
    for (let column = 0; column <= x; column += 1) sum += rows[start + column * channels + channel] ?? 0;
    return sum % 256;
  };
  return Array.from({ length: channels }, (_, channel) => value(channel));
}

async function convert(bytes: Buffer): Promise<Buffer> {
  const converted = await converter.convert(bytes, signal);
  if ("reason" in converted) throw new Error(converted.reason);
  return converted;
}

test.each(Object.entries(images))("a WebP becomes a PNG of the same pixels: %s", async (name, base64) => {
  const png = await convert(Buffer.from(base64, "base64"));
  expect([png.readUInt32BE(16), png.readUInt32BE(20)]).toEqual([40, 30]);
  const tolerance = name.startsWith("lossless") ? 0 : 24;
  for (const [x, y] of [
    [0, 0],
    [10, 20],
    [30, 5],
    [39, 29],
  ] as const) {
    const expected = [6 * x, 8 * y, 128, ...(name.includes("alpha") ? [x < 20 ? 255 : 64] : [])];
    const actual = pixelAt(png, x, y);
    expect(actual).toHaveLength(expected.length);
    for (const [channel, value] of expected.entries()) {
      expect(Math.abs((actual[channel] ?? -999) - value)).toBeLessThanOrEqual(tolerance);
    }
  }
});

test("hostile WebPs are converted or rejected, and a good one is converted afterwards", async () => {
  const originals = Object.values(images).map((base64) => Buffer.from(base64, "base64"));
  const convertHostile = async (seed: number): Promise<"converted" | "rejected"> => {
    const random = seededRandom(seed);
    const bytes = Buffer.from(random.pick(originals));
    if (seed % 4 === 0) return settle(bytes.subarray(0, 16 + random.below(bytes.length - 16)));
    for (let changes = 1 + random.below(10); changes > 0; changes -= 1) {
      bytes[12 + random.below(bytes.length - 12)] = random.below(256);
    }
    return settle(bytes);
  };
  const results: string[] = [];
  for (let seed = 0; seed < hostileCount; seed += 2) {
    results.push(...(await Promise.all([convertHostile(seed), convertHostile(seed + 1)])));
  }
  expect(results).toHaveLength(hostileCount);
  expect(results).toContain("rejected");
  await convert(Buffer.from(images.lossy, "base64"));
  recordFigure({
    claim: "agents 9",
    text: `${results.length} of ${hostileCount} hostile WebP images were rejected (${results.filter((each) => each === "rejected").length}) or converted; ${Object.keys(images).length} of ${Object.keys(images).length} good ones have the same pixels as PNG`,
    counted: { reached: results.length, needed: hostileCount },
  });
});

async function settle(bytes: Buffer): Promise<"converted" | "rejected"> {
  return "reason" in (await converter.convert(bytes, signal)) ? "rejected" : "converted";
}

test("a WebP that decodes to too many pixels is rejected", async () => {
  const small = createWebpConverter({ limits: { pixels: 40 * 30 - 1 } });
  expect(await small.convert(Buffer.from(images.lossless, "base64"), signal)).toHaveProperty("reason");
});
