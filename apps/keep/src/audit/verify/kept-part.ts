import { Frontier, TileBuilder } from "@hearth-and-keep/transparency-log";
import { sha256 } from "../bytes.ts";
import { fullWidth, hashBytes, type TileReader } from "./read-tiles.ts";

export type KeptPart = {
  /** The tree as it was before the first kept leaf. */
  readonly builder: TileBuilder;
  /** Full tiles that are stored of the archived part. */
  readonly tiles: number;
};

/**
 * Where the tree of a log begins after its older leaves were archived. Of those, only tiles above the lowest level are
 * stored. Whether they are the right ones, the next signed checkpoint decides: its root is computed from them.
 */
export async function openKeptPart(
  firstKept: number,
  tiles: TileReader,
  report: (finding: string) => void,
): Promise<KeptPart | undefined> {
  const partialTiles = await tiles.edgeAt(firstKept);
  const builder =
    partialTiles === undefined ? undefined : TileBuilder.restore({ size: firstKept, partialTiles }, sha256);
  if (builder === undefined) {
    report(`the hashes of the first ${firstKept} records, which are archived, are missing`);
    return undefined;
  }
  return { builder, tiles: await verifyHigherTiles(firstKept, tiles, report) };
}

/** Every full tile is a hash of a tile above it, up to the tiles that the tree continues from. */
async function verifyHigherTiles(
  firstKept: number,
  tiles: TileReader,
  report: (finding: string) => void,
): Promise<number> {
  let count = 0;
  for (let level = 1; ; level += 1) {
    const full = Math.floor(firstKept / fullWidth ** (level + 1));
    if (full === 0) return count;
    for (let index = 0; index < full; index += 1) {
      count += 1;
      const tile = await tiles.read(level, index);
      const above = await tiles.hashAt(level + 1, index);
      if (tile === undefined) report(`tile ${level}/${index} is missing`);
      else if (above === undefined || !rootOf(tile).equals(above))
        report(`tile ${level}/${index} was changed`);
    }
  }
}

function rootOf(tile: Buffer): Buffer {
  const frontier = new Frontier(sha256);
  for (let at = 0; at + hashBytes <= tile.length; at += hashBytes)
    frontier.append(Uint8Array.from(tile.subarray(at, at + hashBytes)));
  return Buffer.from(frontier.root());
}
