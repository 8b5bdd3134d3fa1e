import { expect, test } from "vitest";
import { computeRoot } from "./build-proofs.ts";
import type { Bytes } from "./bytes.ts";
import { Frontier } from "./frontier.ts";
import { readNodesFromTiles } from "./read-tiles.ts";
import { readMemoryTree, recordHash } from "./test/memory-tree.ts";
import { nodeSha256 } from "./test/node-sha256.ts";
import { TileBuilder } from "./tile-builder.ts";
import { fullTilesBetween, partialTilesOf, type Tile, tilePath } from "./tiles.ts";

const hex = (bytes: Bytes): string => Buffer.from(bytes).toString("hex");
const size = 70_000;

/** The tiles of a tree of test records, by path. */
function buildTiles(records: number) {
  const builder = new TileBuilder(nodeSha256);
  for (let index = 0; index < records; index += 1) builder.append(recordHash(index));
  const tiles = [...builder.takeFullTiles(), ...builder.partialTiles()];
  return { builder, contents: new Map(tiles.map((tile) => [tilePath(tile), tile.hashes])) };
}

test("paths are encoded as in the specification", () => {
  const full = { level: 0, index: 0, width: 256 };
  expect(tilePath({ ...full, index: 1_234_067 })).toBe("tile/0/x001/x234/067");
  expect(tilePath({ ...full, index: 1067, level: 1 })).toBe("tile/1/x001/067");
  expect(tilePath({ ...full, index: 999, level: 63, width: 255 })).toBe("tile/63/999.p/255");
  expect(tilePath({ ...full, index: 1000, width: 1 })).toBe("tile/0/x001/000.p/1");
  for (const change of [
    { level: 64 },
    { level: -1 },
    { index: -1 },
    { index: 0.5 },
    { width: 0 },
    { width: 257 },
  ])
    expect(() => tilePath({ ...full, ...change })).toThrow(RangeError);
});

test("a tree of 70,000 records has the tiles that the specification counts", () => {
  const full = fullTilesBetween(0, size);
  const lowest = full.filter(({ level }) => level === 0);
  expect(lowest.at(-1)).toEqual({ level: 0, index: 272, width: 256 });
  expect(full.slice(lowest.length)).toEqual([{ level: 1, index: 0, width: 256 }]);
  expect(lowest).toHaveLength(273);
  expect(partialTilesOf(size)).toEqual([
    { level: 0, index: 273, width: 112 },
    { level: 1, index: 1, width: 17 },
    { level: 2, index: 0, width: 1 },
  ]);
  expect(partialTilesOf(256)).toEqual([{ level: 1, index: 0, width: 1 }]);
  expect(partialTilesOf(0)).toEqual([]);
  expect(fullTilesBetween(255, 256)).toEqual([{ level: 0, index: 0, width: 256 }]);
  expect(fullTilesBetween(256, 511)).toEqual([]);
  expect(fullTilesBetween(65_535, 65_536)).toEqual([
    { level: 0, index: 255, width: 256 },
    { level: 1, index: 0, width: 256 },
  ]);
  expect(() => fullTilesBetween(2, 1)).toThrow(RangeError);
});

test("a builder yields exactly the tiles that become full, and goes on after it was restored", () => {
  const whole = buildTiles(size).contents;
  const steps = [0, 1, 255, 256, 257, 600, 65_536, 65_800, size];
  let builder = new TileBuilder(nodeSha256);
  for (const [at, newSize] of steps.entries()) {
    for (let index = builder.size; index < newSize; index += 1) builder.append(recordHash(index));
    const full = builder.takeFullTiles();
    expect(full.map(tilePath).toSorted()).toEqual(
      fullTilesBetween(steps[at - 1] ?? 0, newSize)
        .map(tilePath)
        .toSorted(),
    );
    for (const tile of full)
      expect(hex(tile.hashes)).toBe(hex(whole.get(tilePath(tile)) ?? new Uint8Array()));
    const partialTiles = builder.partialTiles().map(({ hashes }) => hashes);
    const restored = TileBuilder.restore({ size: newSize, partialTiles }, nodeSha256);
    expect(hex(restored?.root() ?? new Uint8Array())).toBe(hex(builder.root()));
    expect(TileBuilder.restore({ size: newSize + 1, partialTiles }, nodeSha256)).toBeUndefined();
    builder = restored ?? builder;
  }
  expect(builder.size).toBe(size);
});

test("every node is read from tiles, also from full tiles in the position of partial ones", async () => {
  const { contents } = buildTiles(size);
  const readTile = (tile: Tile) =>
    Promise.resolve(contents.get(tilePath(tile)) ?? contents.get(tilePath({ ...tile, width: 256 })));
  const memory = readMemoryTree(size);
  const nodes = Array.from({ length: 17 }, (_, level) => {
    const count = Math.floor(size / 2 ** level);
    return [0, 1, Math.floor(count / 2), count - 1]
      .filter((index) => index < count)
      .map((index) => ({ level, index }));
  }).flat();
  const found = await readNodesFromTiles({ size, readTile, sha256: nodeSha256 })(nodes);
  expect(found.map(hex)).toEqual((await memory(nodes)).map(hex));
  const frontier = new Frontier(nodeSha256);
  for (const smaller of [1, 200, 256, 512, 65_536]) {
    while (frontier.size < smaller) frontier.append(recordHash(frontier.size));
    const stored = buildTiles(smaller).contents;
    const readNodes = readNodesFromTiles({
      size: smaller,
      readTile: (tile) => Promise.resolve(stored.get(tilePath(tile))),
    });
    expect(hex(await computeRoot(smaller, { readNodes }))).toBe(hex(frontier.root()));
  }
});

function read(hashes: Bytes | undefined) {
  return readNodesFromTiles({ size: 10, readTile: () => Promise.resolve(hashes) });
}

test("a missing or cut tile and a node outside of the tree are errors", async () => {
  const node = [{ level: 0, index: 5 }];
  await expect(read(undefined)(node)).rejects.toThrow('Cannot read "tile/0/000.p/10": it is not stored');
  for (const length of [0, 9 * 32, 10 * 32 + 1, 257 * 32])
    await expect(read(new Uint8Array(length))(node)).rejects.toThrow(`it has ${length} bytes`);
  for (const outside of [
    { level: 0, index: 10 },
    { level: 1, index: 5 },
    { level: 4, index: 0 },
    { level: 8, index: 0 },
  ])
    await expect(read(new Uint8Array(320))([outside])).rejects.toThrow(RangeError);
});
