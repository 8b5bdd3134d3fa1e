import type { Bytes } from "./bytes.ts";
import { hashSubtrees, type Sha256, webSha256 } from "./hashing.ts";
import {
  consistencyRanges,
  inclusionRanges,
  isCount,
  type LeafRange,
  subtreesOf,
  type TreeNode,
} from "./tree-shape.ts";

/** Hashes of nodes of a stored tree, in the order of the nodes. */
export type NodeReader = (nodes: readonly TreeNode[]) => Promise<readonly Bytes[]>;

export type StoredTree = { readonly readNodes: NodeReader; readonly sha256?: Sha256 };

/** Proof that the tree of this size has its leaf at the index: the hashes from the leaf's sibling upwards. */
export async function buildInclusionProof(
  { index, size }: { readonly index: number; readonly size: number },
  tree: StoredTree,
): Promise<readonly Bytes[]> {
  if (!isCount(index) || !isCount(size) || index >= size)
    throw new RangeError(`A tree of ${size} leaves has no leaf ${index}`);
  return hashRanges(inclusionRanges(index, size), tree);
}

/** Proof that a tree begins with the leaves of the old one; empty when either tree or nothing is compared. */
export async function buildConsistencyProof(
  { oldSize, newSize }: { readonly oldSize: number; readonly newSize: number },
  tree: StoredTree,
): Promise<readonly Bytes[]> {
  if (!isCount(oldSize) || !isCount(newSize) || oldSize > newSize)
    throw new RangeError(`A tree cannot grow from ${oldSize} to ${newSize} leaves`);
  if (oldSize === 0 || oldSize === newSize) return [];
  return hashRanges(consistencyRanges(oldSize, newSize), tree);
}

/** Root of the first `size` leaves. */
export async function computeRoot(size: number, tree: StoredTree): Promise<Bytes> {
  if (!isCount(size)) throw new RangeError(`A tree cannot have ${size} leaves`);
  const [root] = await hashRanges([{ start: 0, end: size }], tree);
  return root ?? new Uint8Array();
}

/** Reads all nodes at once, since a store answers one large request faster than many small ones. */
async function hashRanges(
  ranges: readonly LeafRange[],
  { readNodes, sha256 = webSha256 }: StoredTree,
): Promise<readonly Bytes[]> {
  const nodes = ranges.map(subtreesOf);
  const hashes = await readNodes(nodes.flat());
  let start = 0;
  return Promise.all(
    nodes.map(({ length }) => {
      start += length;
      return hashSubtrees(hashes.slice(start - length, start), sha256);
    }),
  );
}
