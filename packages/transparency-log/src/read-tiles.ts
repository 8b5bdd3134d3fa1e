import type { NodeReader } from "./build-proofs.ts";
import type { Bytes } from "./bytes.ts";
import { hashLength, hashSubtrees, type Sha256, webSha256 } from "./hashing.ts";
import { fullWidth, type Tile, type TileSection, tilePath, tileSectionOf } from "./tiles.ts";

export type TileStore = {
  /** Size of a tree whose tiles are stored. */
  readonly size: number;
  /** The hashes of a tile, or of the full tile at its position; undefined if neither is stored. */
  readonly readTile: (tile: Tile) => Promise<Bytes | undefined>;
  readonly sha256?: Sha256;
};

/**
 * Reads nodes from stored tiles, each tile once per call. Tiles are not authenticated: a proof from altered tiles does
 * not verify.
 */
export function readNodesFromTiles({ size, readTile, sha256 = webSha256 }: TileStore): NodeReader {
  return async (nodes) => {
    const sections = nodes.map((node) => tileSectionOf(node, size));
    const tiles = new Map(sections.map(({ tile }) => [tilePath(tile), tile]));
    const contents = new Map(
      await Promise.all(
        [...tiles].map(async ([path, tile]) => [path, checkTile(tile, await readTile(tile))] as const),
      ),
    );
    return Promise.all(
      sections.map((section) =>
        hashSection(section, contents.get(tilePath(section.tile)) ?? new Uint8Array(), sha256),
      ),
    );
  };
}

function checkTile(tile: Tile, hashes: Bytes | undefined): Bytes {
  if (hashes === undefined) throw new Error(`Cannot read "${tilePath(tile)}": it is not stored`);
  const { length } = hashes;
  if (length % hashLength !== 0 || length < tile.width * hashLength || length > fullWidth * hashLength)
    throw new Error(`Cannot read "${tilePath(tile)}": it has ${length} bytes`);
  return hashes;
}

/** Hashes pairs, level by level: the section is a complete subtree. */
async function hashSection({ start, end }: TileSection, tile: Bytes, sha256: Sha256): Promise<Bytes> {
  let hashes = Array.from({ length: end - start }, (_, index) => {
    const at = (start + index) * hashLength;
    return tile.slice(at, at + hashLength);
  });
  while (hashes.length > 1) {
    const parents: Bytes[] = [];
    for (let index = 0; index < hashes.length; index += 2)
      parents.push(await hashSubtrees(hashes.slice(index, index + 2), sha256));
    hashes = parents;
  }
  return hashes[0] ?? new Uint8Array();
}
