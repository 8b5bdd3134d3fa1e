import { readFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { buildConsistencyProof, buildInclusionProof } from "./build-proofs.ts";
import { formatCheckpoint } from "./checkpoint.ts";
import { cosignNote, signNote } from "./sign-note.ts";
import { formatNote } from "./signed-note.ts";
import { bitsOf, differsInBytes, flipBitOfList, flipBitOfText } from "./test/flip-bit.ts";
import { makeSigner } from "./test/make-signer.ts";
import { readMemoryTree, recordHash } from "./test/memory-tree.ts";
import { nodeSha256 } from "./test/node-sha256.ts";
import { type OracleRequest, openOracle } from "./test/open-oracle.ts";
import { TileBuilder } from "./tile-builder.ts";
import { formatVerifierKey } from "./verifier-key.ts";

const timeout = 700_000;
const fixturePath = fileURLToPath(new URL("fixtures/made-by-go.json", import.meta.url));

test("the fixture is what Go makes", { timeout }, async () => {
  const oracle = await openOracle();
  if (oracle === undefined) return;
  expect(JSON.parse(await oracle.makeFixture())).toEqual(JSON.parse(await readFile(fixturePath, "utf8")));
});

test("Go accepts our proofs of every size up to 130, and rejects them with a changed bit", {
  timeout,
}, async () => {
  const oracle = await openOracle();
  if (oracle === undefined) return;
  const requests = await proofsUpTo(130);
  expect((await oracle.judge(requests)).filter((isValid) => !isValid)).toEqual([]);
  const altered = requests
    .filter((request) => "proof" in request && request.proof.length > 0)
    .map((request, at) =>
      "proof" in request ? { ...request, proof: flipBitOfList(request.proof, at % 256) } : request,
    );
  expect(altered.length).toBeGreaterThan(16_000);
  expect((await oracle.judge(altered)).filter((isValid) => isValid)).toEqual([]);
});

async function proofsUpTo(maxSize: number): Promise<readonly OracleRequest[]> {
  const tree = { readNodes: readMemoryTree(maxSize), sha256: nodeSha256 };
  const builder = new TileBuilder(nodeSha256);
  const roots = [builder.root()];
  const requests: OracleRequest[] = [];
  for (let size = 1; size <= maxSize; size += 1) {
    builder.append(recordHash(size - 1));
    const root = builder.root();
    roots.push(root);
    for (let index = 0; index < size; index += 1) {
      const proof = await buildInclusionProof({ index, size }, tree);
      requests.push({ kind: "inclusion", size, root, index, leaf: recordHash(index), proof });
      const oldSize = index + 1;
      requests.push({
        kind: "consistency",
        size,
        root,
        oldSize,
        oldRoot: roots[oldSize] ?? root,
        proof: await buildConsistencyProof({ oldSize, newSize: size }, tree),
      });
    }
  }
  return requests;
}

test("Go authenticates our tiles and reads the same proofs from them", { timeout }, async () => {
  const oracle = await openOracle();
  if (oracle === undefined) return;
  const size = 70_000;
  const builder = new TileBuilder(nodeSha256);
  for (let index = 0; index < size; index += 1) builder.append(recordHash(index));
  const tiles = [...builder.takeFullTiles(), ...builder.partialTiles()];
  const tree = { readNodes: readMemoryTree(size), sha256: nodeSha256 };
  const requests = await Promise.all(
    [0, 12_345, 65_535, 65_536, size - 1].map(async (index) => ({
      kind: "tiles" as const,
      size,
      root: builder.root(),
      index,
      leaf: recordHash(index),
      proof: await buildInclusionProof({ index, size }, tree),
      tiles,
    })),
  );
  expect(await oracle.judge(requests)).toEqual(requests.map(() => true));
  const altered = requests.map((request) => ({
    ...request,
    tiles: tiles.map((tile) => ({ ...tile, hashes: tile.hashes.toReversed() })),
  }));
  expect(await oracle.judge(altered)).toEqual(requests.map(() => false));
});

test("Go verifies our notes and cosignatures, and rejects them with a changed bit", { timeout }, async () => {
  const oracle = await openOracle();
  if (oracle === undefined) return;
  const log = await makeSigner("log.example/audit/0");
  const witness = await makeSigner("witness.example", "cosignature");
  const text = formatCheckpoint({ origin: log.key.name, size: 7, root: recordHash(0), extensions: ["ext"] });
  const signatures = [await signNote(text, log), await cosignNote(text, witness, 1_790_000_000)];
  const note = formatNote({ text, signatures });
  const keys = [log.key, witness.key].map(formatVerifierKey);
  expect(await oracle.judge([{ kind: "note", note, keys }])).toEqual([true]);
  const altered = Array.from({ length: bitsOf(note) }, (_, bit) => flipBitOfText(note, bit))
    .filter((each) => each !== undefined)
    .filter((each) => differsInBytes(each, note))
    .map((each) => ({ kind: "note", note: each, keys }) as const);
  expect(altered.length).toBeGreaterThan(1500);
  expect((await oracle.judge(altered)).filter((isValid) => isValid)).toEqual([]);
});
