import type { Bytes } from "./bytes.ts";

/**
 * SHA-256 as the caller has it. Browsers have only an asynchronous one; a server passes a synchronous one, which takes
 * a microsecond.
 */
export type Sha256 = (bytes: Bytes) => Bytes | Promise<Bytes>;
export type SynchronousSha256 = (bytes: Bytes) => Bytes;

/** Bytes of a SHA-256 hash. */
export const hashLength = 32;

/** Web Crypto's SHA-256, in browsers and in Node. */
export async function webSha256(bytes: Bytes): Promise<Bytes> {
  return new Uint8Array(await crypto.subtle.digest("SHA-256", bytes));
}

// RFC 6962 2.1: the prefixes keep a leaf from being presented as a node, and the reverse.
const leafPrefix = 0x00;
export const nodePrefix = 0x01;

/** SHA-256(00 data) */
export function hashLeaf<Digest>(content: Bytes, sha256: (bytes: Bytes) => Digest): Digest {
  const message = new Uint8Array(1 + content.length);
  message[0] = leafPrefix;
  message.set(content, 1);
  return sha256(message);
}

type Children = { readonly left: Bytes; readonly right: Bytes };

/** SHA-256(01 left right) */
export function hashNode<Digest>({ left, right }: Children, sha256: (bytes: Bytes) => Digest): Digest {
  const message = new Uint8Array(1 + left.length + right.length);
  message[0] = nodePrefix;
  message.set(left, 1);
  message.set(right, 1 + left.length);
  return sha256(message);
}

/** Root of the tree without leaves: SHA-256 of nothing. */
export function hashEmptyTree<Digest>(sha256: (bytes: Bytes) => Digest): Digest {
  return sha256(new Uint8Array());
}

/** Root of adjacent subtrees, given from left to right and never smaller than the next one. */
export async function hashSubtrees(hashes: readonly Bytes[], sha256: Sha256): Promise<Bytes> {
  let root = hashes.at(-1);
  if (root === undefined) return hashEmptyTree(sha256);
  for (const left of hashes.slice(0, -1).toReversed()) root = await hashNode({ left, right: root }, sha256);
  return root;
}
