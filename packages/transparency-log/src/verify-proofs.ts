import { type Bytes, equalBytes } from "./bytes.ts";
import { hashEmptyTree, hashLength, hashNode, type Sha256, webSha256 } from "./hashing.ts";
import { halve, isCount, isOdd } from "./tree-shape.ts";

export type InclusionClaim = {
  readonly leafHash: Bytes;
  readonly index: number;
  readonly size: number;
  readonly root: Bytes;
  readonly proof: readonly Bytes[];
};

export type ConsistencyClaim = {
  readonly oldSize: number;
  readonly oldRoot: Bytes;
  readonly newSize: number;
  readonly newRoot: Bytes;
  readonly proof: readonly Bytes[];
};

/** A proof of a tree with a safe integer as its size has at most 53 hashes; one more is in a consistency proof. */
const maxProofHashes = 54;

/**
 * RFC 9162 2.1.3.2. The size is as trustworthy as the root: both come from a signed checkpoint, because the same root
 * can verify with more than one size.
 */
export function verifyInclusion(claim: InclusionClaim, sha256: Sha256 = webSha256): Promise<boolean> {
  return new InclusionVerifier(claim, sha256).verify(claim);
}

/**
 * Verifies leaves of one tree. Where the path of a leaf meets the path of the last valid one, the hash and the rest of
 * the proof must be the same and are compared instead of hashed again: adjacent leaves cost two node hashes on average.
 */
export class InclusionVerifier {
  readonly #tree: Pick<InclusionClaim, "size" | "root">;
  readonly #sha256: Sha256;
  /** Steps of the last valid proof by the number of the last node on their level, which no two levels share. */
  #knownSteps: ReadonlyMap<number, ProofStep> = new Map();

  constructor(tree: Pick<InclusionClaim, "size" | "root">, sha256: Sha256 = webSha256) {
    this.#tree = tree;
    this.#sha256 = sha256;
  }

  async verify(claim: Pick<InclusionClaim, "leafHash" | "index" | "proof">): Promise<boolean> {
    const { leafHash, index, proof } = claim;
    const { size, root } = this.#tree;
    if (!isCount(index) || !isCount(size) || index >= size) return false;
    if (!areHashes([leafHash, root]) || !isProof(proof)) return false;
    const steps = new Map<number, ProofStep>();
    let [node, last, hash] = [index, size - 1, leafHash];
    for (const [at, sibling] of proof.entries()) {
      if (last === 0) return false;
      const step = { node, hash, proof, at };
      const known = this.#knownSteps.get(last);
      if (known?.node === node) return isSameStep(step, known) && this.#remember(steps, last);
      steps.set(last, step);
      if (isOdd(node) || node === last) {
        hash = await hashNode({ left: sibling, right: hash }, this.#sha256);
        [node, last] = skipLevelsWithoutSibling(node, last);
      } else {
        hash = await hashNode({ left: hash, right: sibling }, this.#sha256);
      }
      [node, last] = [halve(node), halve(last)];
    }
    return last === 0 && equalBytes(hash, root) && this.#remember(steps, last);
  }

  /** Adds the known steps from the level where the paths meet. */
  #remember(steps: Map<number, ProofStep>, meetingLast: number): true {
    for (const [last, step] of this.#knownSteps) if (last <= meetingLast) steps.set(last, step);
    this.#knownSteps = steps;
    return true;
  }
}

/** A node on the path from a leaf to the root, and the proof from there. */
type ProofStep = {
  readonly node: number;
  readonly hash: Bytes;
  readonly proof: readonly Bytes[];
  readonly at: number;
};

function isSameStep(step: ProofStep, known: ProofStep): boolean {
  const rest = step.proof.slice(step.at);
  return (
    equalBytes(step.hash, known.hash) &&
    rest.length === known.proof.length - known.at &&
    rest.every((hash, offset) => equalBytes(hash, known.proof[known.at + offset] ?? new Uint8Array()))
  );
}

/** RFC 9162 2.1.4.2. Equal sizes need equal roots and no proof; every tree begins with the empty tree. */
export async function verifyConsistency(
  claim: ConsistencyClaim,
  sha256: Sha256 = webSha256,
): Promise<boolean> {
  const { oldSize, oldRoot, newSize, newRoot, proof } = claim;
  if (!isCount(oldSize) || !isCount(newSize) || oldSize > newSize) return false;
  if (!areHashes([oldRoot, newRoot]) || !isProof(proof)) return false;
  if (oldSize === newSize) return proof.length === 0 && equalBytes(oldRoot, newRoot);
  if (oldSize === 0) return proof.length === 0 && equalBytes(oldRoot, await hashEmptyTree(sha256));
  return proof.length > 0 && verifyGrowth(claim, sha256);
}

async function verifyGrowth(claim: ConsistencyClaim, sha256: Sha256): Promise<boolean> {
  const { oldSize, oldRoot, newSize, newRoot, proof } = claim;
  const [first = oldRoot, ...rest] = isPowerOfTwo(oldSize) ? [oldRoot, ...proof] : proof;
  let [node, last] = [oldSize - 1, newSize - 1];
  while (isOdd(node)) [node, last] = [halve(node), halve(last)];
  let [oldHash, newHash] = [first, first];
  for (const sibling of rest) {
    if (last === 0) return false;
    if (isOdd(node) || node === last) {
      oldHash = await hashNode({ left: sibling, right: oldHash }, sha256);
      newHash = await hashNode({ left: sibling, right: newHash }, sha256);
      [node, last] = skipLevelsWithoutSibling(node, last);
    } else {
      newHash = await hashNode({ left: newHash, right: sibling }, sha256);
    }
    [node, last] = [halve(node), halve(last)];
  }
  return last === 0 && equalBytes(oldHash, oldRoot) && equalBytes(newHash, newRoot);
}

/** The last node of a level has no sibling when its number is even, and is carried up unchanged. */
function skipLevelsWithoutSibling(node: number, last: number): readonly [number, number] {
  let [at, end] = [node, last];
  while (!isOdd(at) && at !== 0) [at, end] = [halve(at), halve(end)];
  return [at, end];
}

function isPowerOfTwo(value: number): boolean {
  let rest = value;
  while (rest > 1 && !isOdd(rest)) rest = halve(rest);
  return rest === 1;
}

function isProof(proof: readonly Bytes[]): boolean {
  return proof.length <= maxProofHashes && areHashes(proof);
}

function areHashes(hashes: readonly Bytes[]): boolean {
  return hashes.every(({ length }) => length === hashLength);
}
