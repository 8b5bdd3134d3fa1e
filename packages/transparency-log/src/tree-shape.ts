/** The root of the complete subtree over leaves [index × 2^level, (index + 1) × 2^level). */
export type TreeNode = { readonly level: number; readonly index: number };

/** Leaves [start, end) of a tree. */
export type LeafRange = { readonly start: number; readonly end: number };

/** Sizes and indexes are safe integers, so arithmetic on them is exact; bit operators would cut them to 32 bits. */
export function isCount(value: number): boolean {
  return Number.isSafeInteger(value) && value >= 0;
}

export function isOdd(value: number): boolean {
  return value % 2 === 1;
}

export function halve(value: number): number {
  return Math.floor(value / 2);
}

/** The complete subtrees, from left to right, whose roots determine the root of a range that is a subtree itself. */
export function subtreesOf({ start, end }: LeafRange): readonly TreeNode[] {
  const nodes: TreeNode[] = [];
  for (let at = start; at < end; ) {
    const level = levelWithin(end - at);
    nodes.push({ level, index: at / 2 ** level });
    at += 2 ** level;
  }
  return nodes;
}

/** PATH(index, D[size]) of RFC 6962 2.1.1: the sibling of every ancestor, from the leaf upwards. */
export function inclusionRanges(index: number, size: number): readonly LeafRange[] {
  const siblings: LeafRange[] = [];
  let [start, end] = [0, size];
  while (end - start > 1) {
    const middle = start + leftLeaves(end - start);
    siblings.push(index < middle ? { start: middle, end } : { start, end: middle });
    if (index < middle) end = middle;
    else start = middle;
  }
  return siblings.toReversed();
}

/** PROOF(from, D[to]) of RFC 6962 2.1.2, for 0 < from < to. */
export function consistencyRanges(from: number, to: number): readonly LeafRange[] {
  const ranges: LeafRange[] = [];
  let [start, end] = [0, to];
  while (end !== from) {
    const middle = start + leftLeaves(end - start);
    ranges.push(from <= middle ? { start: middle, end } : { start, end: middle });
    if (from <= middle) end = middle;
    else start = middle;
  }
  // The old root itself is known to whoever checks the proof.
  if (start !== 0) ranges.push({ start, end });
  return ranges.toReversed();
}

/** Leaves of the left child: the largest power of two below the number of leaves. */
function leftLeaves(leaves: number): number {
  return 2 ** levelWithin(leaves - 1);
}

/** Level of the largest complete subtree with at most this many leaves. */
function levelWithin(leaves: number): number {
  let level = 0;
  while (2 ** (level + 1) <= leaves) level += 1;
  return level;
}
