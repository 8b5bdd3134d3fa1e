import { TileBuilder, tilePath } from "@hearth-and-keep/transparency-log";
import { expect, test } from "vitest";
import { sha256 } from "../bytes.ts";
import { openKeptPart } from "./kept-part.ts";
import { createTileReader, fullWidth, hashBytes } from "./read-tiles.ts";

const size = 140_000;
const firstKept = 131_500;

const leafHash = (index: number) => sha256(Buffer.from(`leaf ${index}`));

/** The stored tiles of a tree without those of archived leaves, and the roots at both sizes. */
function buildTree() {
  const builder = new TileBuilder(sha256);
  let root: Uint8Array = new Uint8Array();
  for (let index = 0; index < size; index += 1) {
    if (index === firstKept) root = builder.root();
    builder.append(leafHash(index));
  }
  const kept = builder
    .takeFullTiles()
    .filter(({ level, index }) => level > 0 || (index + 1) * fullWidth > firstKept)
    .map((tile) => ({ ...tile, hashes: Buffer.from(tile.hashes) }));
  const edge = builder.partialTiles().map(({ hashes }) => Buffer.from(hashes));
  return { kept, edge, rootBefore: root, root: builder.root() };
}

const tree = buildTree();

async function open(tiles = tree.kept) {
  const findings: string[] = [];
  const log = { id: 1, origin: "keep/audit/1", size: String(size), note: null, edge: tree.edge };
  /** Answers the one query of the reader: tiles of a level from an index on. */
  const query = ({ values = [] }: { readonly values?: readonly unknown[] }) =>
    Promise.resolve(
      tiles
        .filter(({ level, index }) => level === values[1] && index >= Number(values[2]))
        .map(({ level, index, hashes }) => ({ level, index: String(index), hashes })),
    );
  const reader = createTileReader(
    { ...log, first_kept_index: String(firstKept) },
    {
      acrossAccounts: (work) =>
        // The reader uses nothing else of a transaction.
        work({ query: query as never, queryAtCommit: () => undefined, afterCommit: () => undefined }),
    },
  );
  return { part: await openKeptPart(firstKept, reader, (finding) => findings.push(finding)), findings };
}

test("the tree goes on after an archived part of which only higher tiles are stored", async () => {
  const { part, findings } = await open();
  expect(findings).toEqual([]);
  expect(part?.tiles).toBe(2);
  expect(part?.builder.root()).toEqual(tree.rootBefore);
  for (let index = firstKept; index < size; index += 1) part?.builder.append(leafHash(index));
  expect(part?.builder.root()).toEqual(tree.root);
});

test("a changed or missing tile of the archived part is found", async () => {
  for (const tile of tree.kept.filter(({ level, index }) => level === 1 && index < 2)) {
    const others = tree.kept.filter((other) => other !== tile);
    const hashes = Buffer.from(tile.hashes);
    hashes[77 * hashBytes] = (hashes[77 * hashBytes] ?? 0) ^ 1;
    expect([tilePath(tile), (await open([...others, { ...tile, hashes }])).findings]).toEqual([
      tilePath(tile),
      [`tile ${tile.level}/${tile.index} was changed`],
    ]);
    expect((await open(others)).findings).toEqual([`tile ${tile.level}/${tile.index} is missing`]);
  }
  const boundary = tree.kept.filter(({ level }) => level > 0);
  expect(await open(boundary)).toEqual({
    part: undefined,
    findings: [`the hashes of the first ${firstKept} records, which are archived, are missing`],
  });
});
