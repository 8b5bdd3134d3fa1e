import { isCount, type TreeNode } from "./tree-shape.ts";

/**
 * Consecutive hashes at one height of a tree (C2SP tlog-tiles). Level 0 contains leaf hashes; a hash of a higher level
 * is the root of a full tile of the level below.
 */
export type Tile = {
  readonly level: number;
  readonly index: number;
  /** Number of hashes: 256, or fewer at the right edge of a tree. */
  readonly width: number;
};

/** Hashes of a full tile. */
export const fullWidth = 256;
/** Levels of the tree per level of tiles. */
export const tileHeight = 8;

/** The tiles that become full when a tree grows, lower levels first. */
export function fullTilesBetween(oldSize: number, newSize: number): readonly Tile[] {
  if (!isCount(oldSize) || !isCount(newSize) || oldSize > newSize)
    throw new RangeError(`A tree cannot grow from ${oldSize} to ${newSize} leaves`);
  const tiles: Tile[] = [];
  for (let level = 0; hashesAt(newSize, level) >= fullWidth; level += 1) {
    const end = hashesAt(newSize, level + 1);
    for (let index = hashesAt(oldSize, level + 1); index < end; index += 1)
      tiles.push({ level, index, width: fullWidth });
  }
  return tiles;
}

/** The tiles at the right edge of a tree that are not full, lower levels first. */
export function partialTilesOf(size: number): readonly Tile[] {
  if (!isCount(size)) throw new RangeError(`A tree cannot have ${size} leaves`);
  const tiles: Tile[] = [];
  for (let level = 0; hashesAt(size, level) > 0; level += 1) {
    const hashes = hashesAt(size, level);
    const width = hashes % fullWidth;
    if (width > 0) tiles.push({ level, index: Math.floor(hashes / fullWidth), width });
  }
  return tiles;
}

/** `tile/<level>/<index>`, and `.p/<width>` for a partial tile; index 1234067 is `x001/x234/067`. */
export function tilePath({ level, index, width }: Tile): string {
  if (!isCount(level) || level > 63 || !isCount(index)) throw new RangeError("Tile out of range");
  if (!isCount(width) || width < 1 || width > fullWidth) throw new RangeError("Tile width out of range");
  const digits = String(index);
  const groups = digits.padStart(Math.ceil(digits.length / 3) * 3, "0").match(/\d{3}/gu) ?? [];
  const path = groups.map((group, at) => (at < groups.length - 1 ? `x${group}` : group)).join("/");
  return `tile/${level}/${path}${width < fullWidth ? `.p/${width}` : ""}`;
}

export type TileSection = {
  readonly tile: Tile;
  /** The hashes [start, end) of the tile, whose root is the node. */
  readonly start: number;
  readonly end: number;
};

/** Where a node is stored: the tile of a tree of this size, and the hashes in it that the node is computed from. */
export function tileSectionOf({ level, index }: TreeNode, size: number): TileSection {
  const tileLevel = Math.floor(level / tileHeight);
  const count = 2 ** (level % tileHeight);
  const first = index * count;
  const tileIndex = Math.floor(first / fullWidth);
  const start = first % fullWidth;
  const width = Math.min(hashesAt(size, tileLevel) - tileIndex * fullWidth, fullWidth);
  if (!isCount(level) || !isCount(index) || start + count > width)
    throw new RangeError(`A tree of ${size} leaves has no node ${index} at level ${level}`);
  return { tile: { level: tileLevel, index: tileIndex, width }, start, end: start + count };
}

/** Number of hashes in the tiles of a level. */
function hashesAt(size: number, level: number): number {
  return Math.floor(size / fullWidth ** level);
}
