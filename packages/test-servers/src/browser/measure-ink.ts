import { promisify } from "node:util";
import { inflate } from "node:zlib";

export type Region = {
  readonly x: number;
  readonly y: number;
  readonly width: number;
  readonly height: number;
};

type Image = {
  readonly width: number;
  readonly height: number;
  /** Bytes per pixel: three for RGB, four for RGBA. */
  readonly depth: number;
  /** The rows, each after its filter byte. */
  readonly rows: Uint8Array;
};

/** The share, from 0 to 1, of pixels in a region of a Chromium PNG that differ from its most frequent colour. */
export async function measureInk(png: Buffer, region: Region): Promise<number> {
  const { width, height, depth, rows } = await readImage(png);
  const stride = width * depth + 1;
  const [right, bottom] = [
    Math.min(width, region.x + region.width),
    Math.min(height, region.y + region.height),
  ];
  const counts = new Map<number, number>();
  let [last, run, pixels] = [-1, 0, 0];
  for (let y = region.y; y < bottom; y += 1) {
    for (let x = region.x; x < right; x += 1) {
      const at = y * stride + 1 + x * depth;
      const colour = ((rows[at] ?? 0) << 16) | ((rows[at + 1] ?? 0) << 8) | (rows[at + 2] ?? 0);
      pixels += 1;
      // Most pixels equal the previous one, so the map is updated only where the colour changes.
      if (colour === last) run += 1;
      else {
        counts.set(last, (counts.get(last) ?? 0) + run);
        [last, run] = [colour, 1];
      }
    }
  }
  counts.set(last, (counts.get(last) ?? 0) + run);
  return pixels === 0 ? 0 : 1 - Math.max(...counts.values()) / pixels;
}

async function readImage(png: Buffer): Promise<Image> {
  const [width, height] = [png.readUInt32BE(16), png.readUInt32BE(20)];
  const depth = { 2: 3, 6: 4 }[png[25] ?? 0];
  if (depth === undefined || png[24] !== 8 || png[28] !== 0)
    throw new Error("Cannot read the image: it is not a non-interlaced 8-bit RGB or RGBA PNG");
  const compressed: Buffer[] = [];
  for (let at = 8; at < png.length; at += 12 + png.readUInt32BE(at)) {
    if (png.toString("latin1", at + 4, at + 8) === "IDAT")
      compressed.push(png.subarray(at + 8, at + 8 + png.readUInt32BE(at)));
  }
  const rows = await promisify(inflate)(Buffer.concat(compressed));
  for (let y = 0; y < height; y += 1) restoreRow(rows, y, { width, depth });
  return { width, height, depth, rows };
}

/** Reverses the PNG filter of a row: each byte is a difference from its neighbours, selected by the first byte. */
function restoreRow(rows: Uint8Array, y: number, { width, depth }: Pick<Image, "width" | "depth">): void {
  const stride = width * depth + 1;
  const start = y * stride;
  const filter = rows[start] ?? 0;
  if (filter === 0) return;
  for (let at = start + 1; at < start + stride; at += 1) {
    const hasLeft = at > start + depth;
    const left = hasLeft ? (rows[at - depth] ?? 0) : 0;
    const up = y > 0 ? (rows[at - stride] ?? 0) : 0;
    const corner = hasLeft && y > 0 ? (rows[at - stride - depth] ?? 0) : 0;
    let expected = left;
    if (filter === 2) expected = up;
    else if (filter === 3) expected = (left + up) >> 1;
    else if (filter === 4) expected = paeth(left, up, corner);
    rows[at] = ((rows[at] ?? 0) + expected) & 0xff;
  }
}

/** The Paeth predictor: the neighbour nearest to left + up - corner. */
function paeth(left: number, up: number, corner: number): number {
  const guess = left + up - corner;
  const [byLeft, byUp, byCorner] = [Math.abs(guess - left), Math.abs(guess - up), Math.abs(guess - corner)];
  if (byLeft <= byUp && byLeft <= byCorner) return left;
  return byUp <= byCorner ? up : corner;
}
