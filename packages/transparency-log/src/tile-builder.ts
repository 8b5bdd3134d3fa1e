import { type Bytes, joinBytes, wholeNumberBytes } from "./bytes.ts";
import { Frontier, type SubtreeListener } from "./frontier.ts";
import { hashLength, type SynchronousSha256 } from "./hashing.ts";
import { fullWidth, partialTilesOf, type Tile, tileHeight } from "./tiles.ts";

export type TileContent = Tile & { readonly hashes: Bytes };

/**
 * Extends a tree and collects its tiles. The hashes of higher tiles are nodes that the frontier computes anyway, so
 * tiles cost no further hashing.
 */
export class TileBuilder {
  readonly #frontier: Frontier;
  /** By level: the hashes of the tile at the right edge, in room for a full one. */
  readonly #edges: Bytes[] = [];
  #fullTiles: TileContent[] = [];

  constructor(sha256: SynchronousSha256, frontier: Frontier = new Frontier(sha256)) {
    this.#frontier = frontier;
  }

  get size(): number {
    return this.#frontier.size;
  }

  append(leafHash: Bytes): void {
    this.#frontier.append(leafHash, this.#collect);
  }

  root(): Bytes {
    return this.#frontier.root();
  }

  /** The tiles that became full since the last call. */
  takeFullTiles(): readonly TileContent[] {
    const taken = this.#fullTiles;
    this.#fullTiles = [];
    return taken;
  }

  /** The tiles at the right edge, from which the builder can be restored. */
  partialTiles(): readonly TileContent[] {
    return partialTilesOf(this.size).map((tile) => ({
      ...tile,
      hashes: this.#edge(tile.level).slice(0, tile.width * hashLength),
    }));
  }

  /** Undefined when these cannot be the partial tiles of a tree of this size, lower levels first. */
  static restore(
    { size, partialTiles }: { readonly size: number; readonly partialTiles: readonly Bytes[] },
    sha256: SynchronousSha256,
  ): TileBuilder | undefined {
    const tiles = partialTilesOf(size);
    const isComplete =
      tiles.length === partialTiles.length &&
      tiles.every(({ width }, at) => partialTiles[at]?.length === width * hashLength);
    if (!isComplete) return undefined;
    const subtrees = partialTiles.toReversed().flatMap((hashes) => subtreesOfTile(hashes, sha256));
    const frontier = Frontier.restore(joinBytes([wholeNumberBytes(size), ...subtrees]), sha256);
    if (frontier === undefined) return undefined;
    const builder = new TileBuilder(sha256, frontier);
    for (const [at, { level }] of tiles.entries()) builder.#edge(level).set(partialTiles[at] ?? []);
    return builder;
  }

  readonly #collect: SubtreeListener = (level, hash) => {
    if (level % tileHeight !== 0) return;
    const tileLevel = level / tileHeight;
    // The frontier grows after it has reported the subtrees, so this is the hash's position.
    const position = Math.floor(this.size / fullWidth ** tileLevel);
    const offset = position % fullWidth;
    const edge = this.#edge(tileLevel);
    edge.set(hash, offset * hashLength);
    if (offset < fullWidth - 1) return;
    const index = Math.floor(position / fullWidth);
    this.#fullTiles.push({ level: tileLevel, index, width: fullWidth, hashes: edge.slice() });
  };

  #edge(level: number): Bytes {
    return (this.#edges[level] ??= new Uint8Array(fullWidth * hashLength));
  }
}

/** Roots of the complete subtrees over the hashes of one tile. */
function subtreesOfTile(hashes: Bytes, sha256: SynchronousSha256): readonly Bytes[] {
  const frontier = new Frontier(sha256);
  for (let at = 0; at < hashes.length; at += hashLength) frontier.append(hashes.slice(at, at + hashLength));
  return frontier.subtrees();
}
