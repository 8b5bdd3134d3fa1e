import { type Bytes, joinBytes, wholeNumberAt, wholeNumberBytes } from "./bytes.ts";
import { hashEmptyTree, hashLength, nodePrefix, type SynchronousSha256 } from "./hashing.ts";
import { halve, isOdd } from "./tree-shape.ts";

/** Bytes of the size in a serialised frontier. */
const sizeLength = 8;

/** Called for each subtree that a leaf completes, the leaf itself first. */
export type SubtreeListener = (level: number, hash: Bytes) => void;

/**
 * The roots of the complete subtrees at the right edge of a tree, which suffice to append leaves and to compute the
 * root. Appending costs one node hash on average.
 */
export class Frontier {
  readonly #sha256: SynchronousSha256;
  /** By level; a level counts only where the size has a one bit. */
  readonly #hashes: Bytes[] = [];
  /** Prefix, left and right, reused for every node. */
  readonly #nodeMessage = new Uint8Array(1 + 2 * hashLength);
  #size = 0;

  constructor(sha256: SynchronousSha256) {
    this.#sha256 = sha256;
    this.#nodeMessage[0] = nodePrefix;
  }

  get size(): number {
    return this.#size;
  }

  /** Keeps the hash, which must not change afterwards. */
  append(leafHash: Bytes, onSubtree?: SubtreeListener): void {
    if (leafHash.length !== hashLength) throw new RangeError(`A leaf hash has ${hashLength} bytes`);
    let hash = leafHash;
    let level = 0;
    onSubtree?.(level, hash);
    for (let rest = this.#size; isOdd(rest); rest = halve(rest)) {
      hash = this.#hashNode(level, hash);
      level += 1;
      onSubtree?.(level, hash);
    }
    this.#hashes[level] = hash;
    this.#size += 1;
  }

  root(): Bytes {
    let root: Bytes | undefined;
    for (const level of this.#levels()) {
      root = root === undefined ? this.#hashes[level] : this.#hashNode(level, root);
    }
    return root ?? hashEmptyTree(this.#sha256);
  }

  /** Roots of the complete subtrees, from left to right. */
  subtrees(): readonly Bytes[] {
    return [...this.#levels()].toReversed().map((level) => this.#hashes[level] ?? new Uint8Array());
  }

  /** The size in eight bytes, then the roots of the complete subtrees. */
  serialise(): Bytes {
    return joinBytes([wholeNumberBytes(this.#size), ...this.subtrees()]);
  }

  /** Undefined when the bytes are not a serialised frontier; whether it is the right one, its root decides. */
  static restore(bytes: Bytes, sha256: SynchronousSha256): Frontier | undefined {
    const size = wholeNumberAt(bytes);
    if (size === undefined) return undefined;
    const frontier = new Frontier(sha256);
    frontier.#size = size;
    const levels = [...frontier.#levels()].toReversed();
    if (bytes.length !== sizeLength + levels.length * hashLength) return undefined;
    for (const [position, level] of levels.entries()) {
      const start = sizeLength + position * hashLength;
      frontier.#hashes[level] = bytes.slice(start, start + hashLength);
    }
    return frontier;
  }

  /** Levels of the one bits of the size, lowest first: the subtrees from right to left. */
  *#levels(): Generator<number> {
    for (let rest = this.#size, level = 0; rest > 0; rest = halve(rest), level += 1) {
      if (isOdd(rest)) yield level;
    }
  }

  #hashNode(level: number, right: Bytes): Bytes {
    this.#nodeMessage.set(this.#hashes[level] ?? [], 1);
    this.#nodeMessage.set(right, 1 + hashLength);
    return this.#sha256(this.#nodeMessage);
  }
}
