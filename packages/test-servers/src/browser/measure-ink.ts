import { promisify } from "node:util";
import { inflate } from "node:zlib";

export type Region = {
  readonly x: number;
  readonly y: number;
  readonly width: number;
  readonly height: number;
};

type Picture = {
  readonly width: number;
  readonly height: number;
  /** Bytes of one point: three colours, or four with its cover. */
  readonly depth: number;
  /** Row by row, each behind one byte. */
  readonly rows: Uint8Array;
};

/** How much of a region of a PNG, as Chromium makes them, is not its most frequent colour: from 0 to 1. */
export async function measureInk(png: Buffer, region: Region): Promise<number> {
  const { width, height, depth, rows } = await readPicture(png);
  const stride = width * depth + 1;
  const [right, bottom] = [
    Math.min(width, region.x + region.width),
    Math.min(height, region.y + region.height),
  ];
  const counts = new Map<number, number>();
  let [last, run, points] = [-1, 0, 0];
  for (let y = region.y; y < bottom; y += 1) {
    for (let x = region.x; x < right; x += 1) {
      const at = y * stride + 1 + x * depth;
      const colour = ((rows[at] ?? 0) << 16) | ((rows[at + 1] ?? 0) << 8) | (rows[at + 2] ?? 0);
      points += 1;
      // Most points are as the one before: a map is asked only where the colour changes.
      if (colour === last) run += 1;
      else {
        counts.set(last, (counts.get(last) ?? 0) + run);
        [last, run] = [colour, 1];
      }
    }
  }
  counts.set(last, (counts.get(last) ?? 0) + run);
  return points === 0 ? 0 : 1 - Math.max(...counts.values()) / points;
}

async function readPicture(png: Buffer): Promise<Picture> {
  const [width, height] = [png.readUInt32BE(16), png.readUInt32BE(20)];
  const depth = { 2: 3, 6: 4 }[png[25] ?? 0];
  if (depth === undefined || png[24] !== 8 || png[28] !== 0)
    throw new Error("Cannot read the picture: it is not of eight bits, in colours and in one piece");
  const packed: Buffer[] = [];
  for (let at = 8; at < png.length; at += 12 + png.readUInt32BE(at)) {
    if (png.toString("latin1", at + 4, at + 8) === "IDAT")
      packed.push(png.subarray(at + 8, at + 8 + png.readUInt32BE(at)));
  }
  const rows = await promisify(inflate)(Buffer.concat(packed));
  for (let y = 0; y < height; y += 1) restoreRow(rows, y, { width, depth });
  return { width, height, depth, rows };
}

/** A row says each byte as its difference from those before it and above it; the first byte says from which. */
function restoreRow(rows: Uint8Array, y: number, { width, depth }: Pick<Picture, "width" | "depth">): void {
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
    else if (filter === 4) expected = nearest(left, up, corner);
    rows[at] = ((rows[at] ?? 0) + expected) & 0xff;
  }
}

/** Of the three neighbours the one nearest to what a plane through them would have here. */
function nearest(left: number, up: number, corner: number): number {
  const guess = left + up - corner;
  const [byLeft, byUp, byCorner] = [Math.abs(guess - left), Math.abs(guess - up), Math.abs(guess - corner)];
  if (byLeft <= byUp && byLeft <= byCorner) return left;
  return byUp <= byCorner ? up : corner;
}
