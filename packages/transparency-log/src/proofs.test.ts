import { expect, test, vi } from "vitest";
import { buildConsistencyProof, buildInclusionProof } from "./build-proofs.ts";
import type { Bytes } from "./bytes.ts";
import { Frontier } from "./frontier.ts";
import type { Sha256 } from "./hashing.ts";
import { flipBit, flipBitOfList } from "./test/flip-bit.ts";
import { readMemoryTree, recordHash } from "./test/memory-tree.ts";
import { nodeSha256 } from "./test/node-sha256.ts";
import {
  type ConsistencyClaim,
  type InclusionClaim,
  verifyConsistency,
  verifyInclusion,
} from "./verify-proofs.ts";

const maxSize = 300;
const hashBits = 256;
const tree = { readNodes: readMemoryTree(maxSize), sha256: nodeSha256 };
const roots = rootsBySize();

function rootsBySize(): readonly Bytes[] {
  const frontier = new Frontier(nodeSha256);
  return Array.from({ length: maxSize + 1 }, (_, size) => {
    const root = frontier.root();
    frontier.append(recordHash(size));
    return root;
  });
}

function rootAt(size: number): Bytes {
  return roots[size] ?? new Uint8Array();
}

async function includes(index: number, size: number): Promise<InclusionClaim> {
  const proof = await buildInclusionProof({ index, size }, tree);
  return { leafHash: recordHash(index), index, size, root: rootAt(size), proof };
}

async function extend(oldSize: number, newSize: number): Promise<ConsistencyClaim> {
  const proof = await buildConsistencyProof({ oldSize, newSize }, tree);
  return { oldSize, oldRoot: rootAt(oldSize), newSize, newRoot: rootAt(newSize), proof };
}

/** All pairs of a small tree, and a few of a larger one with long and with short proofs. */
const flippedPairs: readonly (readonly [number, number])[] = [
  ...Array.from({ length: 8 }, (_, size) =>
    Array.from({ length: size + 1 }, (_unused, first) => [first, size] as const),
  ).flat(),
  [0, 300],
  [127, 129],
  [128, 256],
  [128, 257],
  [255, 300],
  [299, 300],
];

test("every leaf of every tree of up to 300 leaves has a valid proof", async () => {
  let count = 0;
  for (let size = 1; size <= maxSize; size += 1) {
    for (let index = 0; index < size; index += 1) {
      if (await verifyInclusion(await includes(index, size), nodeSha256)) count += 1;
    }
  }
  expect(count).toBe((maxSize * (maxSize + 1)) / 2);
});

test("every two trees of up to 300 leaves have a valid proof of consistency", async () => {
  let count = 0;
  for (let newSize = 0; newSize <= maxSize; newSize += 1) {
    for (let oldSize = 0; oldSize <= newSize; oldSize += 1) {
      if (await verifyConsistency(await extend(oldSize, newSize), nodeSha256)) count += 1;
    }
  }
  expect(count).toBe(((maxSize + 1) * (maxSize + 2)) / 2);
});

test("every changed bit in a leaf, a root or a proof of inclusion is found", async () => {
  for (const [index, size] of flippedPairs.filter(([first, second]) => first < second)) {
    const claim = await includes(index, size);
    expect(await verifyInclusion(claim)).toBe(true);
    const altered = [
      ...everyBit(hashBits).flatMap((bit) => [
        { ...claim, leafHash: flipBit(claim.leafHash, bit) },
        { ...claim, root: flipBit(claim.root, bit) },
      ]),
      ...everyBit(claim.proof.length * hashBits).map((bit) => ({
        ...claim,
        proof: flipBitOfList(claim.proof, bit),
      })),
    ];
    expect(await countValid(altered, verifyInclusion)).toBe(0);
  }
});

test("every changed bit in a root or a proof of consistency is found", async () => {
  for (const [oldSize, newSize] of flippedPairs) {
    const claim = await extend(oldSize, newSize);
    expect(await verifyConsistency(claim)).toBe(true);
    // Every tree begins with the empty tree, so no proof binds the new root to it.
    const newRootBits = oldSize === 0 && newSize > 0 ? 0 : hashBits;
    const altered = [
      ...everyBit(hashBits).map((bit) => ({ ...claim, oldRoot: flipBit(claim.oldRoot, bit) })),
      ...everyBit(newRootBits).map((bit) => ({ ...claim, newRoot: flipBit(claim.newRoot, bit) })),
      ...everyBit(claim.proof.length * hashBits).map((bit) => ({
        ...claim,
        proof: flipBitOfList(claim.proof, bit),
      })),
    ];
    expect(await countValid(altered, verifyConsistency)).toBe(0);
  }
});

test("a proof is not valid for another leaf, nor with a hash more or less", async () => {
  const size = 37;
  for (let index = 0; index < size; index += 1) {
    const claim = await includes(index, size);
    for (let other = 0; other < size; other += 1)
      expect(await verifyInclusion({ ...claim, index: other }, nodeSha256)).toBe(other === index);
    for (const proof of [claim.proof.slice(1), claim.proof.slice(0, -1), [...claim.proof, claim.root]])
      expect(await verifyInclusion({ ...claim, proof }, nodeSha256)).toBe(false);
  }
  for (let oldSize = 0; oldSize < size; oldSize += 1) {
    const claim = await extend(oldSize, size);
    const changed = [claim.proof.slice(1), claim.proof.slice(0, -1), [...claim.proof, claim.newRoot]];
    for (const proof of changed.filter(({ length }) => length !== claim.proof.length))
      expect(await verifyConsistency({ ...claim, proof }, nodeSha256)).toBe(false);
    for (const other of everyBit(size).filter((value) => value !== oldSize))
      expect(await verifyConsistency({ ...claim, oldSize: other }, nodeSha256)).toBe(false);
  }
});

test("sizes, indexes and hashes out of bounds are rejected", async () => {
  const inclusion = await includes(3, 7);
  const numbers = [-1, 0.5, 7, Number.NaN, Number.POSITIVE_INFINITY, 2 ** 53];
  for (const index of numbers) expect(await verifyInclusion({ ...inclusion, index })).toBe(false);
  for (const size of [-1, 0, 3, 7.5, Number.NaN, 2 ** 53])
    expect(await verifyInclusion({ ...inclusion, size })).toBe(false);
  const long = { size: Number.MAX_SAFE_INTEGER, proof: Array.from({ length: 55 }, () => inclusion.root) };
  const refuse = vi.fn<Sha256>();
  expect(await verifyInclusion({ ...inclusion, ...long }, refuse)).toBe(false);
  expect(refuse, "a proof that is too long is not hashed").not.toHaveBeenCalled();
  const single = { leafHash: inclusion.root, root: inclusion.root, size: 1, proof: [] };
  expect(await verifyInclusion({ ...single, index: 0 })).toBe(true);
  expect(await verifyInclusion({ ...single, index: 1 })).toBe(false);
  const short = inclusion.root.slice(1);
  expect(await verifyInclusion({ ...inclusion, leafHash: short })).toBe(false);
  expect(await verifyInclusion({ ...inclusion, root: short })).toBe(false);
  expect(await verifyInclusion({ ...inclusion, proof: [short] })).toBe(false);
  const consistency = await extend(3, 7);
  for (const oldSize of [8, ...numbers])
    expect(await verifyConsistency({ ...consistency, oldSize })).toBe(false);
  for (const newSize of [2, -1, 2 ** 53])
    expect(await verifyConsistency({ ...consistency, newSize })).toBe(false);
  await expect(buildInclusionProof({ index: 7, size: 7 }, tree)).rejects.toThrow(RangeError);
  await expect(buildConsistencyProof({ oldSize: 8, newSize: 7 }, tree)).rejects.toThrow(RangeError);
});

async function countValid<Claim>(
  claims: readonly Claim[],
  verify: (claim: Claim, sha256: Sha256) => Promise<boolean>,
): Promise<number> {
  let count = 0;
  for (const claim of claims) if (await verify(claim, nodeSha256)) count += 1;
  return count;
}

function everyBit(count: number): readonly number[] {
  return Array.from({ length: count }, (_, bit) => bit);
}
