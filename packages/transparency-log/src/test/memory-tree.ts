/**
 * @module
 * What the tests of this package share: trees, keys and changed bits in memory, and the Go program that verifies
 * what the package produces.
 * Imported only by tests of this package.
 */
import type { NodeReader } from "../build-proofs.ts";
import { type Bytes, textBytes } from "../bytes.ts";
import { hashLeaf, hashNode } from "../hashing.ts";
import { nodeSha256 } from "./node-sha256.ts";

/** The records of every test tree, and of the fixture that Go makes. */
export function recordBytes(index: number): Bytes {
  return textBytes(`record ${index}`);
}

const recordHashes: Bytes[] = [];

/** Computed once, because tests build many trees of the same records. */
export function recordHash(index: number): Bytes {
  return (recordHashes[index] ??= hashLeaf(recordBytes(index), nodeSha256));
}

/** Every complete subtree of a tree of test records, computed pair by pair. */
export function readMemoryTree(size: number): NodeReader {
  const levels = [Array.from({ length: size }, (_, index) => recordHash(index))];
  for (let below = levels[0] ?? []; below.length > 1; below = levels.at(-1) ?? []) {
    const pairs = Math.floor(below.length / 2);
    levels.push(
      Array.from({ length: pairs }, (_, index) =>
        hashNode({ left: at(below, 2 * index), right: at(below, 2 * index + 1) }, nodeSha256),
      ),
    );
  }
  return (nodes) => Promise.resolve(nodes.map(({ level, index }) => at(at(levels, level), index)));
}

function at<Item>(items: readonly Item[], index: number): Item {
  const item = items[index];
  if (item === undefined) throw new RangeError("The tree has no such node");
  return item;
}
