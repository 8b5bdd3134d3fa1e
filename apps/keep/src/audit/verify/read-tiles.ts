import { partialTilesOf, type Tile } from "@hearth-and-keep/transparency-log";
import type { Database } from "../../database/open-database.ts";
import { type LogRow, readTiles } from "./queries.ts";

export const hashBytes = 32;
/** Hashes of a full tile. */
export const fullWidth = 256;

/** The stored tiles of one log, read in the order of their indexes. */
export type TileReader = {
  read(level: number, index: number): Promise<Buffer | undefined>;
  /** The stored hash at a level, from a full tile or from the edge; level 0 has the hashes of leaves. */
  hashAt(level: number, position: number): Promise<Uint8Array<ArrayBuffer> | undefined>;
  /** The tiles at the right edge of the tree when it had this size, lower levels first; undefined if one is not stored. */
  edgeAt(size: number): Promise<readonly Uint8Array<ArrayBuffer>[] | undefined>;
};

export function createTileReader(
  { id: log, size, edge }: LogRow,
  database: Pick<Database, "acrossAccounts">,
): TileReader {
  /** By level, the tiles that were read last, and one that was missing. */
  const pages = new Map<number, ReadonlyMap<number, Buffer | undefined>>();
  const atEdge = new Map(
    partialTilesOf(Number(size)).map(({ level, index }, place) => [`${level}/${index}`, edge[place]]),
  );
  const read = async (level: number, index: number): Promise<Buffer | undefined> => {
    const known = pages.get(level);
    if (known?.has(index) === true) return known.get(index);
    const rows = await readTiles(database, { log, level, from: index });
    const page = new Map([
      [index, undefined],
      ...rows.map((row) => [Number(row.index), row.hashes] as const),
    ]);
    pages.set(level, page);
    return page.get(index);
  };
  const readSection = async (
    { level, index }: Pick<Tile, "level" | "index">,
    start: number,
    end: number,
  ): Promise<Uint8Array<ArrayBuffer> | undefined> => {
    const tile = atEdge.get(`${level}/${index}`) ?? (await read(level, index));
    const hashes = tile?.subarray(start * hashBytes, end * hashBytes);
    return hashes?.length === (end - start) * hashBytes ? Uint8Array.from(hashes) : undefined;
  };
  return {
    read,
    hashAt(level, position) {
      const start = position % fullWidth;
      return readSection({ level, index: Math.floor(position / fullWidth) }, start, start + 1);
    },
    async edgeAt(earlierSize) {
      const tiles = partialTilesOf(earlierSize);
      const hashes = await Promise.all(tiles.map((tile) => readSection(tile, 0, tile.width)));
      const stored = hashes.flatMap((each) => each ?? []);
      return stored.length === tiles.length ? stored : undefined;
    },
  };
}
