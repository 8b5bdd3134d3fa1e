import { expect, test } from "vitest";
import { buildInclusionProof } from "./build-proofs.ts";
import type { Bytes } from "./bytes.ts";
import { Frontier } from "./frontier.ts";
import type { SynchronousSha256 } from "./hashing.ts";
import { flipBit } from "./test/flip-bit.ts";
import { readMemoryTree, recordHash } from "./test/memory-tree.ts";
import { nodeSha256 } from "./test/node-sha256.ts";
import { InclusionVerifier } from "./verify-proofs.ts";

type Leaf = { readonly leafHash: Bytes; readonly index: number; readonly proof: readonly Bytes[] };
type Tree = { readonly size: number; readonly root: Bytes; readonly leaves: readonly Leaf[] };

async function makeTree(size: number): Promise<Tree> {
  const frontier = new Frontier(nodeSha256);
  const stored = { readNodes: readMemoryTree(size), sha256: nodeSha256 };
  const leaves: Leaf[] = [];
  for (let index = 0; index < size; index += 1) {
    frontier.append(recordHash(index));
    const proof = await buildInclusionProof({ index, size }, stored);
    leaves.push({ leafHash: recordHash(index), index, proof });
  }
  return { size, root: frontier.root(), leaves };
}

/** One bit changed in each hash, a hash more and less, and every other index. */
function alterLeaf(leaf: Leaf, size: number): readonly Leaf[] {
  const { leafHash, proof } = leaf;
  const indexes = Array.from({ length: size + 1 }, (_, index) => index).filter(
    (index) => index !== leaf.index,
  );
  return [
    { ...leaf, leafHash: flipBit(leafHash, 77) },
    ...proof.map((hash, at) => ({ ...leaf, proof: proof.with(at, flipBit(hash, 99)) })),
    ...proof.map((_, at) => ({ ...leaf, proof: proof.toSpliced(at, 1) })),
    ...[...proof, leafHash].map((hash, at) => ({ ...leaf, proof: proof.toSpliced(at, 0, hash) })),
    ...indexes.map((index) => ({ ...leaf, index })),
  ];
}

test("after any leaf, every leaf is verified and every alteration of it is found", async () => {
  for (let size = 1; size <= 11; size += 1) {
    const tree = await makeTree(size);
    for (const first of tree.leaves) {
      for (const second of tree.leaves) {
        const verifier = new InclusionVerifier(tree, nodeSha256);
        expect(await verifier.verify(first)).toBe(true);
        const altered = alterLeaf(second, size);
        const results = await Promise.all(altered.map((leaf) => verifier.verify(leaf)));
        expect(results.filter((isValid) => isValid)).toEqual([]);
        expect(await verifier.verify(second)).toBe(true);
        expect(await verifier.verify(first)).toBe(true);
      }
    }
  }
});

test("consecutive leaves cost two node hashes each, and a leaf of another tree is rejected", async () => {
  const tree = await makeTree(300);
  let hashes = 0;
  const countingSha256: SynchronousSha256 = (bytes) => {
    hashes += 1;
    return nodeSha256(bytes);
  };
  const verifier = new InclusionVerifier(tree, countingSha256);
  for (const leaf of tree.leaves) expect(await verifier.verify(leaf)).toBe(true);
  expect(hashes).toBeLessThan(2 * tree.size + 10);
  const other = await makeTree(299);
  const own = new InclusionVerifier(other);
  for (const leaf of other.leaves.slice(256)) {
    expect(await verifier.verify(leaf)).toBe(false);
    expect(await own.verify(leaf)).toBe(true);
  }
});
